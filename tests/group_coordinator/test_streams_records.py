"""Records of streams groups: applied they give what was written, and tombstones end it."""

from __future__ import annotations

from kafkalite.group_coordinator import streams_records
from kafkalite.group_coordinator.modern_member import MemberState
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import AssignedTasks, Tasks
from kafkalite.wire.messages.stored.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentValue,
    TaskIds,
)
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyValue,
    Subtopology,
)
from tests.group_coordinator.in_memory import through_the_log

MEMBER = StreamsMember(
    member_id="m",
    rack_id="r",
    client_id="c",
    client_host="/h",
    rebalance_timeout_ms=7,
    topology_epoch=2,
    process_id="p",
    user_endpoint=("host", 65_535),
    client_tags={"zone": "a"},
    state=MemberState.UNREVOKED,
    member_epoch=5,
    previous_member_epoch=4,
    assigned=AssignedTasks({"0": {1: 3, 2: 5}}, {"1": frozenset({2})}, {"2": frozenset({3})}),
    pending_revocation=AssignedTasks({"0": {7: 2}}, {"1": frozenset({8})}, {}),
)
TARGET = Tasks({"0": frozenset({1})}, {"1": frozenset({0, 2})}, {})
TOPOLOGY = StreamsGroupTopologyValue(
    epoch=2, subtopologies=[Subtopology(subtopology_id="0", source_topics=["orders"])]
)


CHANGES = [
    streams_records.member("app", MEMBER),
    streams_records.group_epoch("app", 6, -9, 2, {"num.standby.replicas": "1"}),
    streams_records.topology("app", TOPOLOGY),
    streams_records.target("app", "m", TARGET),
    streams_records.RECORDS.assignment_epoch("app", 5, 1234),
    streams_records.current_assignment("app", MEMBER),
]


def full() -> StreamsGroup:
    group = StreamsGroup("app")
    through_the_log(group, *CHANGES)
    return group


def test_all_comes_back() -> None:
    group = full()
    assert group.members == {"m": MEMBER}
    assert group.targets == {"m": TARGET}
    assert (group.epoch, group.metadata_hash, group.validated_topology_epoch) == (6, -9, 2)
    assert group.assignment_configs == {"num.standby.replicas": "1"}
    assert (group.assignment_epoch, group.assigned_at_ms) == (5, 1234)
    assert group.topology == TOPOLOGY


def test_which_process_has_what() -> None:
    group = full()
    for partition in (1, 2, 7):
        assert group.processes.active_process(("0", partition)) == "p"
    assert group.processes.active_process(("0", 3)) is None
    assert group.processes.has_standby(("1", 2), "p")
    assert group.processes.has_standby(("1", 8), "p"), "not given up yet"
    assert not group.processes.has_standby(("1", 2), "q")
    assert group.processes.has_warmup(("2", 3), "p")
    through_the_log(group, *streams_records.RECORDS.no_member("app", "m"))
    assert group.processes.active_process(("0", 1)) is None
    assert not group.processes.has_standby(("1", 2), "p")
    assert (group.members, group.targets) == ({}, {})


def test_epochs_that_were_not_kept() -> None:
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=9,
        state=1,
        active_tasks=[TaskIds(subtopology_id="0", partitions=[4], assignment_epochs=None)],
    )
    assigned, pending = streams_records.assigned_from(value)
    assert (assigned, pending) == (AssignedTasks({"0": {4: 9}}), AssignedTasks())
