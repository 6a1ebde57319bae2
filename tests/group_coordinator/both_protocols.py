"""Members of both protocols in one group."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from kafkalite.wire.messages.stored import decode, encode


def subscription(*topics, owned=()):
    by_topic = {}
    for topic, index in owned:
        by_topic.setdefault(topic, []).append(index)
    return encode(
        ConsumerProtocolSubscription(
            topics=list(topics),
            owned_partitions=[
                TopicPartition(topic=topic, partitions=indexes)
                for topic, indexes in by_topic.items()
            ],
        ),
        1,
    )


def classic(world, *topics, **options):
    protocols = [("cooperative-sticky", subscription(*(topics or ("orders",))))]
    return world.member(protocols=protocols, **options)


def partitions_of(member):
    if not member.assignment:
        return set()
    assignment = decode(ConsumerProtocolAssignment, member.assignment)
    return {(t.topic, index) for t in assignment.assigned_partitions for index in t.partitions}


async def rejoin(member):
    """Join with what is owned, and sync."""
    topics = ["orders"]
    owned = partitions_of(member)
    member.protocols = [("cooperative-sticky", subscription(*topics, owned=owned))]
    response = await member.join()
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = await member.join()
    assert response.error_code == ErrorCode.NONE
    return (await member.sync()).error_code


async def settle(classic_members, consumers, rounds=8):
    for _ in range(rounds):
        for consumer in consumers:
            assert await consumer.beat() == ErrorCode.NONE
        for member in classic_members:
            if await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS:
                await rejoin(member)
