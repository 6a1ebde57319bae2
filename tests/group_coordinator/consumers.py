"""Consumers of a group, and the partitions of the topic orders."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode

NAMES = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["orders"], "topic_partitions": []}


async def settle(*consumers, rounds=6):
    """Heartbeat in turn until nobody's assignment changes any more."""
    for _ in range(rounds):
        for consumer in consumers:
            assert await consumer.beat() == ErrorCode.NONE


def orders(*indexes):
    return {("orders", index) for index in indexes}
