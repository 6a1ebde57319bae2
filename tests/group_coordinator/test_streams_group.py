"""Streams groups: epochs, tasks handed over, silence, topics that change, restarts (KIP-1071)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import trio

from kafkalite.group_coordinator.streams_topology import Status
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.streams_group_describe import DescribedGroup
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from tests.group_coordinator.conftest import Context, World

PLAIN = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["orders"])])
STATEFUL = Topology(
    epoch=0,
    subtopologies=[
        Subtopology(
            subtopology_id="0",
            source_topics=["orders"],
            state_changelog_topics=[TopicInfo(name="store")],
        )
    ],
)


@dataclass
class Instance:
    """A member that does as it is told: what it is not to have any more, it gives up."""

    world: World
    member_id: str
    topology: Topology = field(default_factory=lambda: PLAIN)
    epoch: int = 0
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)

    def send(self, **fields: Any) -> StreamsGroupHeartbeatResponse:
        first = self.epoch == 0
        values = {
            "group_id": "app",
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "topology": self.topology if first else None,
            "rebalance_timeout_ms": 30_000 if first else -1,
            "process_id": f"process-{self.member_id}" if first else None,
            "active_tasks": listed(self.active),
            "standby_tasks": listed(self.standby),
            "warmup_tasks": [],
        } | fields
        answered = self.world.coordinator.streams.heartbeat(
            Context(), StreamsGroupHeartbeatRequest(**values)
        )
        return answered.response

    def beat(self, **fields: Any) -> int:
        response = self.send(**fields)
        if response.error_code:
            return response.error_code
        self.epoch = response.member_epoch
        self.statuses = {status.status_code for status in response.status or ()}
        if response.active_tasks is not None:
            self.active = partitions(response.active_tasks)
            self.standby = partitions(response.standby_tasks)
        return ErrorCode.NONE


def listed(indexes: set[int]) -> list[TaskIds]:
    return [TaskIds(subtopology_id="0", partitions=sorted(indexes))] if indexes else []


def partitions(tasks: list[TaskIds] | None) -> set[int]:
    return {index for each in tasks or () for index in each.partitions}


@pytest.fixture
async def quick(world: World) -> World:
    await world.start(
        group_streams_initial_rebalance_delay_ms=0, group_streams_assignment_interval_ms=0
    )
    return world


def instances(world: World, *names: str, **options: Any) -> list[Instance]:
    return [Instance(world, name, **options) for name in names]


def settle(*members: Instance, rounds: int = 4) -> None:
    for _ in range(rounds):
        for member in members:
            assert member.beat() == ErrorCode.NONE
        active = [index for member in members for index in member.active]
        assert len(active) == len(set(active)), "no task is active twice"


def described(world: World) -> DescribedGroup:
    (group,) = world.coordinator.streams.describe(Context(), ["app"])
    return group


async def test_the_first_member_gets_all(autojump_clock, quick):
    (a,) = instances(quick, "a")
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.active, a.statuses) == (2, {0, 1, 2, 3}, set())
    assert a.send().active_tasks is None, "nothing has changed"
    assert described(quick).group_state == "Stable"


async def test_tasks_are_handed_over_one_after_the_other(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    assert b.beat() == ErrorCode.NONE
    assert b.active == set(), "the other has yet to give them up"
    kept = set(a.active)
    assert a.beat(active_tasks=listed(kept)) == ErrorCode.NONE
    assert len(a.active) == 2
    assert b.beat() == ErrorCode.NONE
    assert b.active == set(), "asked for, but not confirmed"
    settle(a, b)
    assert a.active | b.active == {0, 1, 2, 3}
    assert a.epoch == b.epoch == 3
    assert described(quick).group_state == "Stable"


async def test_a_member_leaves(autojump_clock, quick):
    a, b, c = instances(quick, "a", "b", "c")
    settle(a, b, c)
    assert b.send(member_epoch=-1).error_code == ErrorCode.NONE
    settle(a, c)
    assert a.active | c.active == {0, 1, 2, 3}
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_silence(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    for _ in range(10):
        await trio.sleep(5)
        assert a.beat() == ErrorCode.NONE
    settle(a)
    assert a.active == {0, 1, 2, 3}
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_member_that_does_not_give_up_its_tasks(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    for _ in range(8):
        await trio.sleep(5)
        response = a.send(active_tasks=listed({0, 1, 2, 3}))
        b.beat()
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID, "after its rebalance timeout"
    settle(b)
    assert b.active == {0, 1, 2, 3}


async def test_a_restart_changes_nothing(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    before = described(quick)
    await quick.start()
    assert described(quick) == before
    epochs = a.epoch, b.epoch
    settle(a, b)
    assert (a.epoch, b.epoch) == epochs, "nobody need begin anew"


async def test_a_restart_at_every_record(autojump_clock, quick):
    """Whatever is written when the broker is killed, the members go on."""
    a, b, c = instances(quick, "a", "b", "c")
    settle(a, b)
    c.beat()
    for _ in range(12):
        for member in (a, b, c):
            assert member.beat() == ErrorCode.NONE
            await quick.start()
        active = [index for member in (a, b, c) for index in member.active]
        assert len(active) == len(set(active))
    assert a.active | b.active | c.active == {0, 1, 2, 3}
    assert described(quick).group_state == "Stable"


async def test_after_a_restart_silence_counts_anew(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    await trio.sleep(40)
    await quick.start()
    await trio.sleep(40)
    assert a.beat() == ErrorCode.NONE
    await trio.sleep(46)
    assert a.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_what_is_refused_changes_nothing(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    before, written = described(quick), len(quick.log.batches)
    for fields, code in (
        ({"topology": STATEFUL, "member_epoch": 0}, ErrorCode.INVALID_REQUEST),
        ({"active_tasks": listed({9})}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 1, "active_tasks": listed({0, 9})}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"member_epoch": 9}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"member_id": "b"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        values = {"process_id": "another", "rebalance_timeout_ms": 1} | fields
        if fields.get("member_epoch") == 0:
            values |= {"active_tasks": [], "standby_tasks": []}
        assert a.send(**values).error_code == code, fields
    assert (described(quick), len(quick.log.batches)) == (before, written)


async def test_an_answer_that_was_lost(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    lost = a.send(active_tasks=listed({0, 1}))
    assert lost.error_code == ErrorCode.NONE
    assert a.beat(active_tasks=listed({0, 1})) == ErrorCode.NONE


async def test_a_source_that_grows_or_goes(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    quick.set_partitions("orders", 6)
    settle(a)
    assert a.active == set(range(6))
    quick.set_partitions("orders", 0)
    settle(a)
    assert (a.active, a.statuses) == (set(), {Status.MISSING_SOURCE_TOPICS})
    assert described(quick).group_state == "NotReady"
    quick.set_partitions("orders", 2)
    settle(a)
    assert (a.active, a.statuses) == ({0, 1}, set())


async def test_internal_topics(autojump_clock, quick):
    (a,) = instances(quick, "a", topology=STATEFUL)
    request = StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="a",
        topology=STATEFUL,
        rebalance_timeout_ms=1000,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    answered = quick.coordinator.streams.heartbeat(Context(), request)
    (topic,) = answered.to_create.values()
    assert (topic.name, topic.partition_count) == ("store", 4)
    quick.set_partitions("store", 3)
    settle(a)
    assert a.statuses == {Status.INCORRECTLY_PARTITIONED_TOPICS}
    quick.set_partitions("store", 4)
    settle(a)
    assert a.active == {0, 1, 2, 3}


async def test_standby_tasks(autojump_clock, quick):
    quick.group_configs["app"] = {"streams.num.standby.replicas": "1"}
    quick.set_partitions("store", 4)
    a, b = instances(quick, "a", "b", topology=STATEFUL)
    settle(a, b, rounds=6)
    assert a.active == b.standby
    assert b.active == a.standby
    assert b.send(member_epoch=-1).error_code == ErrorCode.NONE
    settle(a)
    assert (a.active, a.standby) == ({0, 1, 2, 3}, set())
    quick.group_configs["app"] = {"streams.num.standby.replicas": "9"}
    others = instances(quick, "c", "d", "e", topology=STATEFUL)
    settle(a, *others, rounds=8)
    copies = sorted(index for each in (a, *others) for index in each.standby)
    assert copies == sorted([0, 1, 2, 3] * 2), "no more than group.streams.max.standby.replicas"


async def test_the_first_assignment_waits_for_others(autojump_clock, quick):
    await quick.start(group_streams_initial_rebalance_delay_ms=3_000)
    a, b = instances(quick, "a", "b")
    assert a.beat() == ErrorCode.NONE
    assert (a.active, a.statuses) == (set(), {Status.ASSIGNMENT_DELAYED})
    await trio.sleep(2)
    assert b.beat() == ErrorCode.NONE
    assert b.statuses == {Status.ASSIGNMENT_DELAYED}
    await trio.sleep(1.5)
    settle(a, b, rounds=2)
    assert sorted(map(len, (a.active, b.active))) == [2, 2]
    assert a.epoch == 3, "one target for both"


async def test_assignments_follow_at_an_interval(autojump_clock, quick):
    await quick.start(group_streams_assignment_interval_ms=10_000)
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    assert b.statuses == {Status.ASSIGNMENT_DELAYED}
    settle(a, b)
    assert a.active == {0, 1, 2, 3}
    await trio.sleep(10.1)
    settle(a, b)
    assert a.active | b.active == {0, 1, 2, 3}
    assert len(b.active) == 2


async def test_no_more_members_than_allowed(autojump_clock, quick):
    await quick.start(group_streams_max_size=1)
    a, b = instances(quick, "a", "b")
    settle(a)
    assert b.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_what_a_group_has_configured(autojump_clock, quick):
    quick.group_configs["app"] = {
        "streams.heartbeat.interval.ms": "7000",
        "streams.session.timeout.ms": "50000",
    }
    (a,) = instances(quick, "a")
    assert a.send().heartbeat_interval_ms == 7000
    await trio.sleep(49)
    a.epoch = 2
    assert a.beat(active_tasks=listed({0, 1, 2, 3})) == ErrorCode.NONE


async def test_all_are_asked_to_shut_down(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    assert a.beat(shutdown_application=True) == ErrorCode.NONE
    b.beat()
    assert b.statuses == {Status.SHUTDOWN_APPLICATION}


async def test_a_log_that_cannot_be_written(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    before = described(quick)
    quick.log.failure = ErrorCode.NOT_COORDINATOR
    assert b.beat() == ErrorCode.NOT_COORDINATOR
    quick.log.failure = None
    assert described(quick) == before
    settle(a, b)


async def test_other_protocols_and_the_end(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    coordinator = quick.coordinator
    join = JoinGroupRequest(group_id="app", session_timeout_ms=10_000, protocol_type="consumer")
    response = await coordinator.join_group(Context(), join)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    (deleted,) = await coordinator.delete_groups(Context(), ["app"])
    assert deleted.error_code == ErrorCode.NON_EMPTY_GROUP
    (found,) = await coordinator.list_groups(Context(), [], ["streams"])
    assert (found.group_id, found.group_type, found.group_state) == ("app", "streams", "Stable")
    a.send(member_epoch=-1)
    assert described(quick).group_state == "Empty"
    (deleted,) = await coordinator.delete_groups(Context(), ["app"])
    assert deleted.error_code == ErrorCode.NONE
    assert described(quick).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    await quick.start()
    assert described(quick).error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_offsets_of_members(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)

    async def commit(epoch: int, partition: int) -> list[int]:
        return await quick.commit(
            ("orders", partition, 1),
            group_id="app",
            member_id="a",
            generation_id_or_member_epoch=epoch,
        )

    assert await commit(2, 0) == [ErrorCode.NONE]
    assert await commit(3, 0) == [ErrorCode.STALE_MEMBER_EPOCH]
    b.beat()
    settle(a, b)
    (kept, *_), (lost, *_) = sorted(a.active), sorted(b.active)
    assert await commit(2, kept) == [ErrorCode.NONE], "it had the task then"
    assert await commit(2, lost) == [ErrorCode.STALE_MEMBER_EPOCH]
