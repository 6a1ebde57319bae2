"""Heartbeats of a member of a streams group, for tests."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

COUNTING = Topology(
    subtopologies=[
        Subtopology(
            subtopology_id="0", source_topics=["words"], repartition_sink_topics=["by-word"]
        ),
        Subtopology(
            subtopology_id="1",
            repartition_source_topics=[TopicInfo(name="by-word")],
            state_changelog_topics=[
                TopicInfo(
                    name="store",
                    topic_configs=[KeyValue(key="cleanup.policy", value="compact")],
                )
            ],
        ),
    ]
)


def joining(topology: Topology = COUNTING, **fields: Any) -> StreamsGroupHeartbeatRequest:
    """The first heartbeat of a member."""
    values = {
        "group_id": "app",
        "member_id": "m",
        "rebalance_timeout_ms": 9_000,
        "process_id": "p",
        "topology": topology,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    } | fields
    return StreamsGroupHeartbeatRequest(**values)


def going_on(epoch: int, **active: list[int]) -> StreamsGroupHeartbeatRequest:
    """Another: `going_on(2, _0=[1])` has the task 0_1."""
    return StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="m",
        member_epoch=epoch,
        active_tasks=[
            TaskIds(subtopology_id=name[1:], partitions=each) for name, each in active.items()
        ],
        standby_tasks=[],
        warmup_tasks=[],
    )


def active(answer: Any) -> dict[str, list[int]]:
    return {each.subtopology_id: each.partitions for each in answer.active_tasks or ()}
