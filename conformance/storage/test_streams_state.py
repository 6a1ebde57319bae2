"""Streams groups go from one broker to the other and back: members, tasks, topology, offsets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.streams_requests import joining, stateless, topology
from conformance.storage.clients import create
from conformance.storage.conftest import Start
from conformance.storage.test_opening import OTHER
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds

GROUP, TOPIC = "app", "work"
COMMITTED = 7


def beat(side: Side, request: StreamsGroupHeartbeatRequest) -> Any:
    answer = side.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request)
    assert answer.error_code == 0, answer
    return answer


def opened(side: Side) -> Any:
    """The group as it is described, once its coordinator is up."""
    find = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    side.until(
        ApiKey.FIND_COORDINATOR, 6, find, lambda answer: answer.coordinators[0].error_code == 0
    )
    answer = side.until(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        0,
        StreamsGroupDescribeRequest(group_ids=[GROUP]),
        lambda answer: answer.groups[0].error_code == 0,
    )
    group = answer.groups[0]
    group.members.sort(key=lambda member: member.member_id)
    return asdict(group)


def committed(side: Side) -> int:
    asked = OffsetFetchRequestGroup(group_id=GROUP, topics=None)
    answer = side.ask(ApiKey.OFFSET_FETCH, 9, OffsetFetchRequest(groups=[asked]))
    (topic,) = answer.groups[0].topics
    offset: int = topic.partitions[0].committed_offset
    return offset


def begin(side: Side) -> int:
    """A group with two members and their tasks, and an offset; the first member's epoch."""
    find = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    side.until(
        ApiKey.FIND_COORDINATOR, 6, find, lambda answer: answer.coordinators[0].error_code == 0
    )
    request = joining(GROUP, "m-1", topology(stateless(TOPIC)))
    answer = side.until_no_error(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request)
    epoch: int = answer.member_epoch
    assert sum(len(tasks.partitions) for tasks in answer.active_tasks) == 4
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=COMMITTED)
    commit = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=epoch,
        member_id="m-1",
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
    )
    side.until_no_error(ApiKey.OFFSET_COMMIT, 9, commit)
    beat(side, joining(GROUP, "m-2", topology(stateless(TOPIC))))
    return epoch


@pytest.mark.parametrize("first", [pytest.param("kafka", marks=pytest.mark.long), "kafkalite"])
def test_a_group_is_the_same_there(start: Start, first: str) -> None:
    writer = start(first, None)
    create(writer.bootstrap, TOPIC, 4)
    side = Side(writer)
    epoch = begin(side)
    described = opened(side)
    assert len(described["members"]) == 2
    side.close()
    writer.kill()

    second = start(OTHER[first], writer.data_dir)
    side = Side(second)
    assert opened(side) == described
    assert committed(side) == COMMITTED
    # The first member has given back what is the second's, and now is where it should be.
    (target,) = described["members"][0]["target_assignment"]["active_tasks"]
    request = StreamsGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m-1",
        member_epoch=epoch,
        active_tasks=[TaskIds(target["subtopology_id"], target["partitions"])],
        standby_tasks=[],
        warmup_tasks=[],
    )
    assert beat(side, request).member_epoch > epoch
    described = opened(side)
    assert described["members"][0]["assignment"]["active_tasks"] == [target]
    side.close()
    second.kill()

    third = start(first, second.data_dir)
    side = Side(third)
    assert opened(side) == described
    assert committed(side) == COMMITTED
    side.close()
