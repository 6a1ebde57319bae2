"""Produces to partitions of topic t and reads its first one."""

from __future__ import annotations

import time
from typing import Any

from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

# The broker runs on the real clock: older records would fall to retention after thirty seconds.
NOW_MS = int(time.time() * 1000)


def produce(value: bytes, *indexes: int) -> ProduceRequest:
    batch = build_batch([Record(timestamp=NOW_MS, value=value)])
    data = [PartitionProduceData(index=index, records=batch) for index in indexes]
    topic = TopicProduceData(name="t", partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


async def codes(client: Any, request: ProduceRequest) -> list[int]:
    answer = await client.ask(request, 9)
    return [each.error_code for each in answer.responses[0].partition_responses]


async def values(client: Any) -> list[bytes]:
    """Everything in the first partition, of which the high watermark must be the end."""
    found: list[bytes] = []
    while True:
        partition = FetchPartition(
            partition=0, fetch_offset=len(found), partition_max_bytes=1 << 20
        )
        topic = FetchTopic(topic="t", partitions=[partition])
        answer = await client.ask(FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic]), 11)
        (answered,) = answer.responses[0].partitions
        assert answered.error_code == 0
        batches = list(iterate_batches(answered.records or b""))
        if not batches:
            assert answered.high_watermark == len(found)
            return found
        for batch in batches:
            assert batch.is_valid()
            found += [record.value or b"" for record in iterate_records(batch)]
