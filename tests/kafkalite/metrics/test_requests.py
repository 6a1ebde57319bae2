"""Requests are counted with their errors and durations."""

from __future__ import annotations

from typing import Any

import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.scraping import ON, SECONDS, scrape, value


async def test_requests_errors_and_latency(connect: Any) -> None:
    async with test_broker(ON) as b:
        b.create_topic("t")
        client = await connect(b)
        batch = memoryview(build_batch([Record(value=b"x", timestamp=1), Record(value=b"y")]))
        data = [PartitionProduceData(index=index, records=batch) for index in (0, 1)]
        for version in (9, 13):
            topic = TopicProduceData(name="t", topic_id=b.topic_id("t"), partition_data=data)
            await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), version)
        topic = TopicProduceData(name="t", partition_data=data[:1])
        await client.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[topic]), 9)
        topic = TopicProduceData(name="t", partition_data=data)
        await client.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[topic]), 9)
        assert await client.is_closed()
        samples = await trio.to_thread.run_sync(scrape, b)
        assert value(samples, "requests_total", api="Produce") == 3
        error = "UNKNOWN_TOPIC_OR_PARTITION"
        assert value(samples, "request_errors_total", api="Produce", error=error) == 2
        error = "CONNECTION_CLOSED"
        assert value(samples, "request_errors_total", api="Produce", error=error) == 1
        assert value(samples, "topic_received_records_total", topic="t") == 8
        assert value(samples, "topic_received_bytes_total", topic="t") == 4 * len(batch)
        assert value(samples, "request_duration_seconds_count", api="Produce") == 3
        assert 0 < value(samples, "request_duration_seconds_sum", api="Produce") < SECONDS


async def test_long_polls_count_their_waiting(connect: Any) -> None:
    from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    async with test_broker(ON) as b:
        b.create_topic("t")
        client = await connect(b)
        partition = FetchPartition(partition=0, partition_max_bytes=1000)
        topics = [FetchTopic(topic="t", partitions=[partition])]
        await client.ask(FetchRequest(max_wait_ms=300, min_bytes=1, topics=topics), 12)
        samples = await trio.to_thread.run_sync(scrape, b)
        assert 0.3 <= value(samples, "request_duration_seconds_sum", api="Fetch") < SECONDS
        buckets = {
            dict(labels)["le"]: count
            for (name, labels), count in samples.items()
            if name == "kafkalite_request_duration_seconds_bucket" and ("api", "Fetch") in labels
        }
        assert (buckets["0.25"], buckets["+Inf"]) == (0, 1)
