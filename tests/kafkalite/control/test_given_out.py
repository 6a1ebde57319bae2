"""Ids of another broker stand for the recorded ones; all else must be the same."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.control.given_out import GivenOut
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, RecordBatch, build_batch

ONE, OTHER = UUID(int=1), UUID(int=2)


def learnt() -> GivenOut:
    given_out = GivenOut()
    recorded = {"topics": [{"topic_id": str(ONE)}], "leader": "a-1", "producer_id": 7}
    now = {"topics": [{"topic_id": str(OTHER)}], "leader": "a-2", "producer_id": 9}
    given_out.learn(recorded, now)
    return given_out


@pytest.mark.parametrize(
    ("recorded", "now", "path"),
    [
        ({"member_id": "a-1"}, {"member_id": "a-2"}, None),
        ({"member_id": "b-1"}, {"member_id": "b-2"}, ".member_id"),
        ({"port": 1, "crc": 2}, {"port": 3, "crc": 4}, None),
        ({"log_append_time_ms": 1000}, {"log_append_time_ms": 1900}, None),
        ({"log_append_time_ms": 1000}, {"log_append_time_ms": -1}, ".log_append_time_ms"),
        ({"error_code": 0}, {"error_code": 3}, ".error_code"),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, ".a[1].b"),
        ({"a": [1]}, {"a": [1, 2]}, ".a"),
        ({"a": 1}, {}, ".a"),
    ],
)
def test_a_difference_is_named_by_its_path(recorded: Any, now: Any, path: str | None) -> None:
    found = [where for where, _ in learnt().differences(recorded, now)]
    assert found == ([] if path is None else [path])


def test_a_request_gets_the_ids_of_now() -> None:
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="a-1")
    assert learnt().put_into(heartbeat)
    assert heartbeat.member_id == "a-2"
    assert not learnt().put_into(heartbeat)
    partitions = [FetchPartition(partition=0)]
    fetch = FetchRequest(topics=[FetchTopic(topic_id=ONE, partitions=partitions)])
    assert learnt().put_into(fetch)
    assert fetch.topics[0].topic_id == OTHER


def test_a_batch_gets_the_producer_id_of_now_and_its_checksum() -> None:
    record = Record(timestamp=0, value=b"v")
    batches = b"".join(build_batch([record], producer_id=each) for each in (7, 8))
    partition = PartitionProduceData(index=0, records=batches)
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    assert learnt().put_into(request)
    first = RecordBatch(memoryview(partition.records), 0)
    second = RecordBatch(memoryview(partition.records), first.size_bytes)
    assert (first.producer_id, second.producer_id) == (9, 8)
    assert first.is_valid()
    assert second.is_valid()
