"""Heartbeats of streams groups that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalite.group_coordinator.streams_checks import (
    check_request,
    check_tasks,
    check_unambiguous,
)
from kafkalite.group_coordinator.streams_topology import ConfiguredSubtopology
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)

JOINING = StreamsGroupHeartbeatRequest(
    group_id="app",
    member_id="m",
    rebalance_timeout_ms=1000,
    topology=Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=["a"])]),
    active_tasks=[],
    standby_tasks=[],
    warmup_tasks=[],
)
SOME = [TaskIds(subtopology_id="0", partitions=[0])]


def topology(**fields: Any) -> Topology:
    return Topology(subtopologies=[Subtopology(subtopology_id="0", **fields)])


def test_one_that_is_fine() -> None:
    check_request(JOINING)
    check_request(replace(JOINING, member_epoch=-1, topology=None))
    going_on = replace(JOINING, member_epoch=3, topology=None)
    check_request(replace(going_on, active_tasks=SOME))
    check_request(replace(going_on, active_tasks=None, standby_tasks=None, warmup_tasks=None))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"instance_id": "i"}, "Static membership is not yet supported."),
        ({"task_offsets": [TaskOffset()]}, "TaskOffsets are not supported yet."),
        ({"task_end_offsets": [TaskOffset()]}, "TaskEndOffsets are not supported yet."),
        ({"warmup_tasks": SOME}, "WarmupTasks are not supported yet."),
        (
            {"topology": topology(source_topic_regex=["a.*"])},
            "Regular expressions for source topics are not supported yet.",
        ),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"active_tasks": SOME}, "ActiveTasks must be empty when (re-)joining."),
        ({"active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
        ({"standby_tasks": SOME}, "StandbyTasks must be empty when (re-)joining."),
        ({"topology": None}, "Topology must be non-null when (re-)joining."),
        ({"member_epoch": -2, "topology": None}, "InstanceId can't be null."),
        (
            {"member_epoch": -3},
            "MemberEpoch is -3, but must be greater than or equal to -2.",
        ),
        (
            {"member_epoch": 1, "topology": None, "active_tasks": None},
            "If one task-type is non-null, all must be non-null.",
        ),
        ({"member_epoch": 1}, "Topology can only be provided when (re-)joining."),
    ],
)
def test_what_no_group_could_accept(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_request(replace(JOINING, **fields))
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(
    "fields",
    [
        {"topology": Topology(epoch=-1)},
        {"topology": Topology(subtopologies=[Subtopology("0"), Subtopology("0")])},
        {"client_tags": [KeyValue("zone", "a"), KeyValue("zone", "b")]},
    ],
)
def test_what_kafka_cannot_make_sense_of(fields: dict[str, Any]) -> None:
    check_unambiguous(JOINING)
    with pytest.raises(KafkaError) as refused:
        check_unambiguous(replace(JOINING, **fields))
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_changelog_follows_its_sources() -> None:
    fixed = topology(
        source_topics=["a"], state_changelog_topics=[TopicInfo(name="s", partitions=3)]
    )
    with pytest.raises(KafkaError) as refused:
        check_request(replace(JOINING, topology=fixed))
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_tasks_that_there_are() -> None:
    subtopologies = {"0": ConfiguredSubtopology(2, frozenset({"a"}), {}, frozenset(), {})}
    check_tasks(subtopologies, {"0": frozenset({0, 1})}, {})
    for wrong in ({"0": frozenset({2})}, {"0": frozenset({-1})}, {"9": frozenset({0})}):
        with pytest.raises(KafkaError) as refused:
            check_tasks(subtopologies, {}, wrong)
        assert refused.value.code is ErrorCode.INVALID_REQUEST
