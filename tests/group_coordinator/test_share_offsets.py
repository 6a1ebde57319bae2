"""Offsets of share groups: described, altered, deleted (KIP-932, KIP-1226)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.group_coordinator import share_keeper, share_states
from kafkalite.group_coordinator.share_keeper import LocalKeeper, finished
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.group_coordinator.conftest import World
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.share_consumers import settle


async def test_offsets_of_an_empty_group_are_set_and_forgotten(autojump_clock, world, consumers):
    answer = alter(world, 42)
    assert answer.error_code == ErrorCode.NONE
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert described(world) == {("orders", 0): (42, 58)}
    await world.start()
    assert described(world) == {("orders", 0): (42, 58)}
    for topic, partition in (("nil", 0), ("orders", 9)):
        refused = alter(world, 1, topic, partition).responses[0].partitions[0]
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = DeleteShareGroupOffsetsRequest(
        group_id="queue",
        topics=[
            DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("orders", "payments")
        ],
    )
    deleted = finished(world.coordinator.share.offsets.delete(Context(), request))
    codes = {topic.topic_name: topic.error_code for topic in deleted.responses}
    assert codes == {
        "orders": ErrorCode.NONE,
        "payments": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert described(world) == {}
    assert not world.share_states.kept


async def test_offsets_of_a_group_with_members_stay(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    assert alter(world, 42).error_code == ErrorCode.NON_EMPTY_GROUP
    request = DeleteShareGroupOffsetsRequest(group_id="queue", topics=[])
    refused = finished(world.coordinator.share.offsets.delete(Context(), request))
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP


def alter(world: World, offset: int, topic: str = "orders", partition: int = 0) -> Any:
    request = AlterShareGroupOffsetsRequest(
        group_id="queue",
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=partition, start_offset=offset
                    )
                ],
            )
        ],
    )
    return finished(world.coordinator.share.offsets.alter(Context(), request))


def alter_topics(world: World, *topics: str) -> Any:
    """Set no offset at all, of these topics."""
    asked = [AlterShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
    request = AlterShareGroupOffsetsRequest(group_id="queue", topics=asked)
    return finished(world.coordinator.share.offsets.alter(Context(), request))


def describe(world: World, asked: Any, context: Any = None) -> Any:
    offsets, context = world.coordinator.share.offsets, context or Context()
    seen = finished(offsets.seen(context, asked))
    return at_once(offsets.describe(context, asked, seen))


def described(world: World) -> dict[tuple[str, int], tuple[int, int]]:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="queue", topics=None)
    answer = describe(world, asked)
    return {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag)
        for topic in answer.topics
        for each in topic.partitions
    }


def delete(world: World, *names: str) -> dict[str, tuple[int, str | None]]:
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    request = DeleteShareGroupOffsetsRequest(group_id="queue", topics=topics)
    answer = finished(world.coordinator.share.offsets.delete(Context(), request))
    assert answer.error_code == ErrorCode.NONE
    return {each.topic_name: (each.error_code, each.error_message) for each in answer.responses}


async def test_topics_without_offsets_have_none_to_delete(autojump_clock, world):
    alter(world, 42)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(world, "payments", "nil") == {
        "payments": (unknown, "There is no offset information to delete."),
        "nil": (unknown, "This server does not host this topic-partition."),
    }
    assert described(world) == {("orders", 0): (42, 58)}


async def test_offsets_that_could_not_be_deleted_are_deleted_later(autojump_clock, world):
    alter(world, 42)
    world.share_states.failure = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ((code, _),) = delete(world, "orders").values()
    assert code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.share_states.kept
    world.share_states.failure = None
    assert delete(world, "orders") == {"orders": (ErrorCode.NONE, None)}
    assert not world.share_states.kept
    assert delete(world, "orders")["orders"][0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_an_offset_that_is_refused_does_not_count(autojump_clock, world):
    world.share_states.failure = ErrorCode.FENCED_STATE_EPOCH
    (topic,) = alter(world, 42).responses
    assert topic.partitions[0].error_code == ErrorCode.FENCED_STATE_EPOCH
    assert topic.partitions[0].error_message == (
        "Error in initialize state RPC. The share coordinator rejected the request because the "
        "share-group state epoch did not match."
    )
    assert described(world) == {}


async def test_the_state_of_a_refused_offset_goes_with_the_group(autojump_clock, world):
    world.share_states.failure = ErrorCode.FENCED_STATE_EPOCH
    (orders,) = (topic.topic_id for topic in alter(world, 42).responses)
    world.share_states.failure = None
    world.share_states.kept["queue", orders, 0] = 7, 7
    deleted = finished(world.coordinator.administration.delete_share_group(Context(), "queue"))
    assert deleted.error_code == ErrorCode.NONE
    assert not world.share_states.kept


async def test_a_topic_without_partitions_is_answered_if_it_is_there(autojump_clock, world):
    answer = alter_topics(world, "nil", "orders")
    assert [(each.topic_name, each.partitions) for each in answer.responses] == [("orders", [])]


async def test_topics_that_are_named_are_described_though_unknown(autojump_clock, world):
    alter(world, 42)
    wanted = [
        DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0, 1])
        for name in ("nil", "orders")
    ]
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="queue", topics=wanted)
    answer = describe(world, asked)
    found = {
        topic.topic_name: [(each.partition_index, each.start_offset) for each in topic.partitions]
        for topic in answer.topics
    }
    assert found == {"orders": [(0, 42), (1, -1)], "nil": [(0, -1), (1, -1)]}
    assert {each.topic_name: each.topic_id.int for each in answer.topics}["nil"] == 0


async def test_groups_of_other_protocols_have_no_such_offsets(autojump_clock, world):
    member = world.member("queue")
    await world.join_all(member)
    answer = alter(world, 42)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == "Group queue is not a share group."
    assert described(world) == {}


async def test_another_node_does_not_describe_a_whole_group(autojump_clock, world):
    alter(world, 42)
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="queue", topics=None)
    answer = describe(world, asked, Context(node_id=2))
    assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])


@pytest.fixture(params=["in_steps", "by_thread"])
def meanwhile(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> list[Callable[[], object]]:
    """Done while others have their turn: between steps, or while a thread works."""
    happens: list[Callable[[], object]] = []
    original = getattr(LocalKeeper, request.param)

    async def beside(self: LocalKeeper, *arguments: Any) -> Any:
        result = await original(self, *arguments)
        while happens:
            happens.pop()()
        return result

    # Many may be asked for though few exist: then no thread is needed.
    room = share_keeper if request.param == "in_steps" else share_states
    monkeypatch.setattr(room, "AT_ONCE", -1)
    monkeypatch.setattr(LocalKeeper, request.param, beside)
    return happens


@pytest.mark.parametrize("exists", [True, False])
async def test_offsets_of_very_many_partitions_are_set(autojump_clock, world, meanwhile, exists):
    if exists:
        alter(world, 41)
    meanwhile.append(lambda: world.set_partitions("payments", 7))
    assert alter(world, 42).error_code == ErrorCode.NONE
    assert not meanwhile, "it was given the time"
    assert described(world) == {("orders", 0): (42, 58)}


async def test_a_member_comes_while_very_many_offsets_are_set(
    autojump_clock, world, consumers, meanwhile
):
    alter(world, 42)
    before = len(world.log.batches)
    (a,) = consumers("a")
    meanwhile.append(a.beat)
    assert alter(world, 43).error_code == ErrorCode.NON_EMPTY_GROUP
    assert world.group("queue").members
    assert {offset for _, offset in world.share_states.kept.values()} <= {42, -1}
    assert len(world.log.batches) > before, "the member's"


async def test_a_group_is_deleted_while_very_many_offsets_are_set(
    autojump_clock, world, consumers, meanwhile
):
    alter(world, 42)
    administration = world.coordinator.administration
    meanwhile.append(lambda: finished(administration.delete_share_group(Context(), "queue")))
    assert alter(world, 43).error_code == ErrorCode.NOT_COORDINATOR
    assert not world.share_states.kept
    await world.start()
    assert described(world) == {}, "nothing is written of a group that is gone"


async def test_the_coordinator_resigns_while_very_many_offsets_are_set(
    autojump_clock, world, meanwhile
):
    coordinator = world.coordinator
    meanwhile.append(lambda: coordinator.resigned(coordinator.partition_for("queue")))
    before = len(world.log.batches)
    assert alter(world, 42).error_code == ErrorCode.NOT_COORDINATOR
    assert len(world.log.batches) == before
    assert not world.share_states.kept
