"""Requests of streams groups, sent to both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.group_requests import compare_descriptions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

BEAT = ApiKey.STREAMS_GROUP_HEARTBEAT


@pytest.fixture
def source(pair: Pair, topic: str) -> str:
    """A topic of four partitions."""
    pair.create_topic(topic, 4)
    pair.settle()
    return topic


def topology(*subtopologies: Subtopology, epoch: int = 0) -> Topology:
    return Topology(epoch=epoch, subtopologies=list(subtopologies))


def stateless(source: str, name: str = "0") -> Subtopology:
    return Subtopology(subtopology_id=name, source_topics=[source])


def counting(source: str) -> tuple[Subtopology, Subtopology]:
    """Two subtopologies with a repartition topic between them, and a store."""
    between = TopicInfo(name=f"{source}-repartition", partitions=0)
    configs = [KeyValue(key="cleanup.policy", value="compact")]
    store = TopicInfo(name=f"{source}-changelog", topic_configs=configs)
    return (
        Subtopology(
            subtopology_id="0", source_topics=[source], repartition_sink_topics=[between.name]
        ),
        Subtopology(
            subtopology_id="1",
            repartition_source_topics=[between],
            state_changelog_topics=[store],
        ),
    )


def beat(pair: Pair, group: str, member_id: str = "m-1", **fields: Any) -> Any:
    values = {"group_id": group, "member_id": member_id, "member_epoch": 0} | fields
    return compared(pair, StreamsGroupHeartbeatRequest(**values))


def compared(pair: Pair, request: StreamsGroupHeartbeatRequest) -> Any:
    """The answer, which must be the same."""
    answers = [side.ask(BEAT, 0, request) for side in pair.sides]
    pair.compare(f"{BEAT.name} v0", *answers, api=BEAT, version=0)
    return answers[0]


def joining(group: str, member_id: str, topology: Topology) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        rebalance_timeout_ms=60_000,
        topology=topology,
        process_id=f"process-of-{member_id}",
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )


def join(pair: Pair, group: str, member_id: str, topology: Topology, **fields: Any) -> Any:
    return compared(pair, replace(joining(group, member_id, topology), **fields))


def owning(**active: list[int]) -> dict[str, Any]:
    """The tasks that a member says it has: `owning(_0=[1, 2])`."""
    tasks = [TaskIds(subtopology_id=name[1:], partitions=each) for name, each in active.items()]
    return {"active_tasks": tasks, "standby_tasks": [], "warmup_tasks": []}


def describe(pair: Pair, *groups: str) -> None:
    compare_descriptions(
        pair, ApiKey.STREAMS_GROUP_DESCRIBE, 0, StreamsGroupDescribeRequest, groups
    )


def commit(
    pair: Pair,
    group: str,
    source: str,
    epoch: int,
    member_id: str,
    *,
    version: int,
    partition: int = 0,
) -> None:
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        topics=[
            OffsetCommitRequestTopic(
                name=source,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
                ],
            )
        ],
    )
    pair.ask(ApiKey.OFFSET_COMMIT, version, request)


def fetch(pair: Pair, group: str, source: str, member_id: str | None, epoch: int) -> None:
    asked = OffsetFetchRequestGroup(
        group_id=group, topics=None, member_id=member_id, member_epoch=epoch
    )
    pair.ask(ApiKey.OFFSET_FETCH, 9, OffsetFetchRequest(groups=[asked]))
