"""OffsetDelete and deleted groups: what goes, and what changes while very many offsets go."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.offset_table import NO_TOPIC_ID
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.group_coordinator.conftest import Context
from tests.group_coordinator.transactional_offsets import txn_commit

MANY = 1000


async def delete(world, *keys, group_id="group"):
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=partition)],
            )
            for topic, partition in keys
        ],
    )
    steps = world.coordinator.offset_router.deleting(world.member().context, request)
    return [code for _, outcomes in drained(steps) for _, code in outcomes]


async def refused(world, *keys, group_id="group"):
    with pytest.raises(KafkaError) as error:
        await delete(world, *keys, group_id=group_id)
    return error.value.code


async def test_offsets_are_deleted_unless_somebody_subscribes_to_the_topic(autojump_clock, world):
    assert await refused(world, ("orders", 0)) == ErrorCode.GROUP_ID_NOT_FOUND
    subscription = b"\0\0" + b"\0\0\0\1" + b"\0\6orders" + b"\xff\xff\xff\xff"
    member = world.member(protocols=[("range", subscription)])
    await world.join_all(member)
    await member.commit("orders", 0, 7)
    await member.commit("payments", 0, 9)
    assert await delete(world, ("orders", 0), ("payments", 0), ("nothing", 0)) == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert await world.committed("orders", 0) == 7
    assert await world.committed("payments", 0) == -1


async def test_other_kinds_of_groups_must_be_empty_first(autojump_clock, world):
    member = world.member(protocol_type="connect")
    await world.join_all(member)
    assert await refused(world, ("orders", 0)) == ErrorCode.NON_EMPTY_GROUP


async def test_a_group_that_subscribes_while_very_many_offsets_are_looked_at(autojump_clock, world):
    """It keeps its offsets: whether they may go is asked again before they do."""
    await world.commit(("orders", 0, 7), ("payments", 0, 7))
    partitions = [OffsetDeleteRequestPartition(partition_index=0)] * 1000
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=partitions)
        for name in ("orders", "payments")
    ]
    request = OffsetDeleteRequest(group_id="group", topics=topics)
    steps = world.coordinator.offset_router.deleting(Context(9), request)
    next(steps)
    subscription = b"\0\0" + b"\0\0\0\1" + b"\0\6orders" + b"\xff\xff\xff\xff"
    await world.join_all(world.member(protocols=[("range", subscription)]))
    drained(steps)
    assert await world.committed("orders", 0) == 7
    assert await world.committed("payments", 0) == -1


async def test_deleted_offsets_stay_deleted(autojump_clock, world):
    await world.commit(("orders", 0, 7), ("orders", 1, 7))
    assert await delete(world, ("orders", 0)) == [ErrorCode.NONE]
    await world.start()
    assert await world.committed("orders", 0) == -1
    assert await world.committed("orders", 1) == 7


async def test_a_group_of_the_same_name_has_nothing_of_a_deleted_one(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    assert drained(deleting_group(world)).error_code == ErrorCode.NONE
    await world.commit(("orders", 1, 9))
    assert await world.committed("orders", 0) == -1


async def commit_many(world, count=MANY):
    world.topics.counts["orders"] = MANY + 1
    rows = [(index, 7, -1, "") for index in range(count)]
    request = ("group", -1, "", None, -1, [("orders", NO_TOPIC_ID, rows)])
    drained(world.coordinator.offset_router.committing(Context(9), request))


def deleting_group(world):
    return world.coordinator.administration.deleting_group(Context(), "group")


async def test_a_group_with_very_many_offsets_goes_in_steps_and_at_once(autojump_clock, world):
    await commit_many(world)
    steps = deleting_group(world)
    for _ in range(5):
        next(steps)
    assert await world.committed("orders", MANY - 1) == 7
    written = len(world.log.batches)
    assert drained(steps).error_code == ErrorCode.NONE
    assert len(world.log.batches) == written + 1
    assert len(world.log.batches[-1]) == MANY + 1  # the group's own, too
    assert await world.committed("orders", MANY - 1) == -1
    await world.start()
    assert await world.committed("orders", MANY - 1) == -1


async def test_an_offset_that_is_committed_while_its_group_goes_goes_too(autojump_clock, world):
    await commit_many(world)
    steps = deleting_group(world)
    next(steps)
    await world.commit(("orders", MANY, 7))
    assert drained(steps).error_code == ErrorCode.NONE
    assert await world.committed("orders", MANY) == -1
    await world.start()
    assert await world.committed("orders", MANY) == -1


async def test_a_member_that_joins_meanwhile_keeps_its_group(autojump_clock, world):
    await commit_many(world)
    steps = deleting_group(world)
    next(steps)
    await world.join_all(world.member())
    assert drained(steps).error_code == ErrorCode.NON_EMPTY_GROUP
    assert await world.committed("orders", 0) == 7


async def test_pending_offsets_go_with_their_group(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    await txn_commit(world, 1000, "orders", 1, 7)
    assert drained(deleting_group(world)).error_code == ErrorCode.NONE
    partition = world.coordinator.partition_for("group")
    world.coordinator.transaction_ended(partition, 1000, committed=True)
    assert await world.committed("orders", 1) == -1
