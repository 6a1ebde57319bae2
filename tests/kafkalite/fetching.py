"""Fetch requests for the topic words, and the values in their responses."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

ALIVE = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.0")


def batch(*values: bytes) -> bytes:
    return build_batch([Record(timestamp=1_600_000_000_000, value=value) for value in values])


def fetch(offsets: dict[int, int], topic: str = "words", **settings: int) -> FetchRequest:
    """A request for the partitions of one topic: {partition: offset}."""
    partition_max_bytes = settings.pop("partition_max_bytes", 1 << 20)
    last_fetched_epoch = settings.pop("last_fetched_epoch", -1)
    current_leader_epoch = settings.pop("current_leader_epoch", -1)
    partitions = [
        FetchPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            last_fetched_epoch=last_fetched_epoch,
            current_leader_epoch=current_leader_epoch,
        )
        for index, offset in offsets.items()
    ]
    defaults = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1}
    request = FetchRequest(**(defaults | settings))
    request.topics = [FetchTopic(topic=topic, partitions=partitions)] if offsets else []
    return request


async def produce(client, records: bytes, partition: int = 0, topic: str = "words") -> None:
    data = [PartitionProduceData(index=partition, records=records)]
    response = await client.ask(
        ProduceRequest(
            acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
        ),
        12,
    )
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def values(records) -> list[bytes]:
    return [
        bytes(record.value)
        for each in iterate_batches(bytes(records))
        for record in iterate_records(each)
    ]


def answers(response) -> dict:
    return {each.partition_index: each for topic in response.responses for each in topic.partitions}
