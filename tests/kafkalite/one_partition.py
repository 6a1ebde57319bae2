"""Produce requests to the first partition of topic t."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch


def produce(acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(value=b"x", timestamp=1)])
    data = PartitionProduceData(index=0, records=memoryview(batch))
    topics = [TopicProduceData(name="t", partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


async def produced(client: Any, acks: int = -1) -> int:
    answer = await client.ask(produce(acks), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code
