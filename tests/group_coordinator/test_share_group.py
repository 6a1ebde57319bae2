"""Share groups: admission, epochs, partitions that become ready, silence, offsets, restarts
(KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.group_coordinator.conftest import World
from tests.group_coordinator.in_memory import Context


@dataclass
class ShareConsumer:
    """A member; it remembers its epoch and what it was assigned."""

    world: World
    member_id: str
    topics: list[str] = field(default_factory=lambda: ["orders"])
    epoch: int = 0
    partitions: set[tuple[str, int]] = field(default_factory=set)

    def send(self, **fields: Any) -> ShareGroupHeartbeatResponse:
        values = {
            "group_id": "queue",
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "subscribed_topic_names": self.topics if self.epoch == 0 else None,
        } | fields
        return self.world.coordinator.share.heartbeat(
            Context(), ShareGroupHeartbeatRequest(**values)
        )

    def beat(self, **fields: Any) -> int:
        response = self.send(**fields)
        if not response.error_code:
            self.epoch = response.member_epoch
        if response.assignment is not None:
            name = self.world.topics.topic_name
            self.partitions = {
                (name(topic.topic_id) or "?", partition)
                for topic in response.assignment.topic_partitions
                for partition in topic.partitions
            }
        return response.error_code


@pytest.fixture
def consumers(world: World):
    def make(*names: str, **options: Any) -> list[ShareConsumer]:
        return [ShareConsumer(world, name, **options) for name in names]

    return make


async def settle(*consumers: ShareConsumer, rounds: int = 4) -> None:
    for _ in range(rounds):
        await trio.sleep(1.1)
        for consumer in consumers:
            assert consumer.beat() == ErrorCode.NONE


def orders(*indexes: int) -> set[tuple[str, int]]:
    return {("orders", index) for index in indexes}


async def test_partitions_are_given_once_they_have_a_state(autojump_clock, world, consumers):
    (a,) = consumers("a")
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.partitions) == (2, set())
    topic_id = world.topics.topic_id("orders")
    assert world.share_states.kept == {("queue", topic_id, index): (2, -1) for index in range(4)}
    await trio.sleep(1.1)
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.partitions) == (3, orders(0, 1, 2, 3))
    await trio.sleep(5)
    assert a.send().assignment is None, "nothing has changed"


async def test_two_members_share(autojump_clock, world, consumers):
    everybody = consumers("a", "b", "c", "d", "e")
    a, b = everybody[:2]
    await settle(a, b)
    assert a.partitions | b.partitions == orders(0, 1, 2, 3)
    assert a.partitions.isdisjoint(b.partitions)
    await settle(*everybody, rounds=6)
    shared = sorted(partition for member in everybody for partition in member.partitions)
    assert shared == sorted([*orders(0, 1, 2, 3)] * 2), "more members than partitions"
    assert {len(member.partitions) for member in everybody} <= {1, 2}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "x" * 37}, ErrorCode.INVALID_REQUEST),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": []}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_what_is_refused_of_a_first_heartbeat(autojump_clock, world, consumers, fields, code):
    (a,) = consumers("a")
    assert a.beat(**fields) == code
    assert not world.log.batches


async def test_epochs_that_do_not_fit(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    assert a.beat(member_epoch=a.epoch + 1) == ErrorCode.FENCED_MEMBER_EPOCH
    assert a.beat(member_epoch=a.epoch - 2) == ErrorCode.FENCED_MEMBER_EPOCH
    assert b.beat(member_epoch=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert b.beat(member_epoch=-1) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_answer_with_a_new_epoch_may_be_lost(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    before = a.epoch
    await trio.sleep(1.1)
    b.beat()
    await trio.sleep(1.1)
    assert a.beat() == ErrorCode.NONE
    assert a.epoch > before
    assert a.beat(member_epoch=before) == ErrorCode.NONE


async def test_a_silent_member_is_gone_and_others_get_its_share(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    for _ in range(12):
        await trio.sleep(5)
        assert a.beat() == ErrorCode.NONE
    assert a.partitions == orders(0, 1, 2, 3)
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_leaving(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    assert b.beat(member_epoch=-1) == ErrorCode.NONE
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3)


async def test_a_topic_that_grows(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    world.set_partitions("orders", 6)
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3, 4, 5)


async def test_a_topic_that_goes_and_comes_again(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    world.set_partitions("orders", 0)
    await settle(a)
    assert a.partitions == set()
    world.set_partitions("orders", 2)
    await settle(a)
    assert a.partitions == orders(0, 1)


async def test_a_state_that_cannot_be_made_is_tried_again(autojump_clock, world, consumers):
    (a,) = consumers("a")
    world.share_states.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    await settle(a)
    assert a.partitions == set()
    world.share_states.failure = None
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3)


async def test_a_restart_keeps_members_and_what_is_ready(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    epochs = a.epoch, b.epoch
    await world.start()
    await settle(a, b)
    assert (a.epoch, b.epoch) == epochs
    assert a.partitions | b.partitions == orders(0, 1, 2, 3)
    await trio.sleep(46)
    assert a.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_what_cannot_be_written_has_not_happened(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    world.log.failure = ErrorCode.NOT_COORDINATOR
    assert b.beat() == ErrorCode.NOT_COORDINATOR
    world.log.failure = None
    (group,) = world.coordinator.share.describe(Context(), ["queue"])
    assert [member.member_id for member in group.members] == ["a"]


async def test_a_full_group(autojump_clock, world, consumers):
    await world.start(group_share_max_size=1)
    a, b = consumers("a", "b")
    assert a.beat() == ErrorCode.NONE
    assert b.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_a_group_sets_its_own_times(autojump_clock, world, consumers):
    world.group_configs["queue"] = {
        "share.heartbeat.interval.ms": "7000",
        "share.session.timeout.ms": "50000",
    }
    (a,) = consumers("a")
    assert a.send().heartbeat_interval_ms == 7000
    await trio.sleep(48)
    a.epoch = 2
    assert a.beat() == ErrorCode.NONE


async def test_it_is_described(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    known, unknown, nameless = world.coordinator.share.describe(Context(), ["queue", "nil", ""])
    assert (known.group_state, known.assignor_name) == ("Stable", "simple")
    (member,) = known.members
    assert member.subscribed_topic_names == ["orders"]
    assert [topic.partitions for topic in member.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert unknown.error_message == "Group nil not found."
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
    (listed,) = world.coordinator.administration.list_groups(Context(), [], ["share"])
    assert (listed.group_id, listed.protocol_type, listed.group_state) == (
        "queue",
        "share",
        "Stable",
    )


async def test_other_protocols_stay_out(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    join = JoinGroupRequest(group_id="queue", session_timeout_ms=10_000, protocol_type="consumer")
    answer = await world.coordinator.join_group(Context(), join)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    beat = ConsumerGroupHeartbeatRequest(
        group_id="queue",
        member_id="x",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    refused = await world.coordinator.consumer_group_heartbeat(Context(1), beat)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    consumer = world.consumer("other")
    await consumer.beat()
    (stranger,) = consumers("s")
    assert stranger.beat(group_id="other") == ErrorCode.GROUP_ID_NOT_FOUND


def alter(world: World, offset: int, topic: str = "orders", partition: int = 0) -> Any:
    return world.coordinator.share.offsets.alter(
        Context(),
        AlterShareGroupOffsetsRequest(
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
        ),
    )


def described(world: World) -> dict[tuple[str, int], tuple[int, int]]:
    answer = world.coordinator.share.offsets.describe(
        Context(), DescribeShareGroupOffsetsRequestGroup(group_id="queue", topics=None)
    )
    return {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag)
        for topic in answer.topics
        for each in topic.partitions
    }


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
    deleted = world.coordinator.share.offsets.delete(Context(), request)
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
    refused = world.coordinator.share.offsets.delete(Context(), request)
    assert refused.error_code == ErrorCode.NON_EMPTY_GROUP


async def test_a_group_is_deleted_with_its_state(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    (result,) = world.coordinator.administration.delete_groups(Context(), ["queue"])
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    a.beat(member_epoch=-1)
    (result,) = world.coordinator.administration.delete_groups(Context(), ["queue"])
    assert result.error_code == ErrorCode.NONE
    assert not world.share_states.kept
    await world.start()
    assert world.coordinator.administration.list_groups(Context(), [], []) == []


async def test_an_empty_share_group_stays(autojump_clock, world, consumers):
    """Its offsets are with the share coordinator, which no retention touches."""
    (a,) = consumers("a")
    await settle(a)
    a.beat(member_epoch=-1)
    await trio.sleep(8 * 86_400)
    (listed,) = world.coordinator.administration.list_groups(Context(), [], [])
    assert (listed.group_id, listed.group_state) == ("queue", "Empty")
