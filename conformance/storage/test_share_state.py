"""Share states go from one broker to the other and back: what was accepted is not delivered
again."""

from __future__ import annotations

import pytest

from conformance.differential.broker_side import Side
from conformance.harness.broker import Broker
from conformance.storage.clients import create, producer
from conformance.storage.conftest import Start
from conformance.storage.test_opening import OTHER
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import share_fetch
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.record_batch import iterate_batches, iterate_records

ACCEPT, RELEASE = 1, 2
PROPERTIES = {"share_coordinator_state_topic_num_partitions": "4"}


def found(side: Side) -> None:
    """The coordinators are up, and the topic has a leader."""
    for kind, key in ((0, "queue"), (2, f"queue:{'A' * 22}:0")):
        side.until(
            ApiKey.FIND_COORDINATOR,
            6,
            FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]),
            lambda answer: answer.coordinators[0].error_code == 0,
        )
    side.until(
        ApiKey.METADATA,
        13,
        MetadataRequest(topics=[MetadataRequestTopic(name="work")]),
        lambda answer: answer.topics[0].partitions[0].leader_id >= 0,
    )


def begin(side: Side) -> None:
    """A share group with a member, and the state of one partition."""
    found(side)
    beat = ShareGroupHeartbeatRequest(
        group_id="queue", member_id="m", member_epoch=0, subscribed_topic_names=["work"]
    )
    side.until_no_error(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat)
    all_offsets = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id="queue", topics=None)]
    )
    side.until(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        all_offsets,
        lambda answer: bool(answer.groups[0].topics),
    )
    # The group's own states begin at the end of the log.
    data = PartitionData(partition=0, state_epoch=9, start_offset=0)
    request = InitializeShareGroupStateRequest(
        group_id="queue",
        topics=[InitializeStateData(topic_id=side.topic_id("work"), partitions=[data])],
    )
    side.until_no_error(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, request)


def fetch(side: Side, epoch: int, *said: tuple[int, int, int]) -> list[int]:
    """Acknowledge, fetch; the offsets that are ours now."""
    batches = [
        share_fetch.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=[kind]
        )
        for first, last, kind in said
    ]
    partition = share_fetch.FetchPartition(partition_index=0, acknowledgement_batches=batches)
    request = ShareFetchRequest(
        group_id="queue",
        member_id="m",
        share_session_epoch=epoch,
        max_wait_ms=2000 if said else 20_000,  # a broker that has just begun loads first
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=100,
        batch_size=100,
        topics=[share_fetch.FetchTopic(topic_id=side.topic_id("work"), partitions=[partition])],
    )
    answer = side.ask(ApiKey.SHARE_FETCH, 2, request)
    assert answer.error_code == 0, answer
    ours: list[int] = []
    for topic in answer.responses:
        for each in topic.partitions:
            assert (each.error_code, each.acknowledge_error_code) == (0, 0), each
            spans = [(a.first_offset, a.last_offset) for a in each.acquired_records]
            for batch in iterate_batches(bytes(each.records or b"")):
                for record in iterate_records(batch):
                    if any(first <= record.offset <= last for first, last in spans):
                        ours.append(record.offset)
    return ours


def send(broker: Broker, count: int) -> None:
    sender = producer(broker.bootstrap)
    for number in range(count):
        sender.produce("work", f"{number}", partition=0)
    assert sender.flush(10) == 0


@pytest.mark.parametrize("first", [pytest.param("kafka", marks=pytest.mark.long), "kafkalite"])
def test_accepted_here_is_gone_there(start: Start, first: str) -> None:
    writer = start(first, None, **PROPERTIES)
    create(writer.bootstrap, "work")
    send(writer, 10)
    side = Side(writer)
    begin(side)
    assert fetch(side, 0) == list(range(10))
    fetch(side, 1, (2, 4, ACCEPT), (5, 5, RELEASE), (7, 9, ACCEPT))
    side.close()
    writer.kill()

    second = start(OTHER[first], writer.data_dir, **PROPERTIES)
    side = Side(second)
    found(side)
    listed = side.until(
        ApiKey.LIST_GROUPS,
        5,
        ListGroupsRequest(types_filter=["share"]),
        lambda answer: bool(answer.groups),
    )
    assert [(group.group_id, group.group_state) for group in listed.groups] == [("queue", "Stable")]
    described = side.ask(
        ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=["queue"])
    )
    assert [member.member_id for member in described.groups[0].members] == ["m"]
    assert fetch(side, 0) == [0, 1, 5, 6]
    fetch(side, 1, (0, 1, ACCEPT), (5, 6, ACCEPT))
    send(second, 2)
    assert fetch(side, 2) == [10, 11]
    fetch(side, 3, (10, 10, ACCEPT))
    side.close()
    second.kill()

    third = start(first, second.data_dir, **PROPERTIES)
    side = Side(third)
    found(side)
    assert fetch(side, 0) == [11]
    side.close()
