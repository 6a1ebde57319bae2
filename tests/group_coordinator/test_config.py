"""Configs that a group may set for itself."""

from __future__ import annotations

import trio

from kafkalite.wire.errors import ErrorCode


async def test_a_group_may_choose_its_own_times(autojump_clock, world):
    world.group_configs["group"] = {
        "consumer.session.timeout.ms": "50000",
        "consumer.heartbeat.interval.ms": "99999",
    }
    consumer = world.consumer()
    await consumer.beat()
    assert consumer.interval == 15.0  # no more than the broker allows
    await trio.sleep(49)
    assert await consumer.beat() == ErrorCode.NONE
