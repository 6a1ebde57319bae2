"""The cost of metrics: `python -m conformance.benchmarks.metrics`.

CPU time of the same requests in one process with and without them, from frame to answer, without
sockets, in alternating rounds of which the best counts; then what a scrape of many partitions
takes.
"""

import sys
import time
import urllib.request
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import produce_request
from kafkalite.metrics.requests import RequestMetrics
from kafkalite.replica.topics import NewTopic
from kafkalite.server.dispatch import Dispatcher
from kafkalite.server.gates import Gates
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import fetch, list_offsets, metadata
from kafkalite.wire.record_batch import Record, build_batch

TOPIC = "tiny"
ROUNDS = 15
REQUESTS = 2000
TOPIC_COUNT = 1000
PARTITION_COUNT = 10


def requests(topic_id: UUID) -> dict[str, tuple[ApiKey, int, Any]]:
    """The ones that a busy broker answers most, as small as they can be."""
    fetched = fetch.FetchPartition(partition=1, partition_max_bytes=10)
    fetch_topic = fetch.FetchTopic(topic=TOPIC, topic_id=topic_id, partitions=[fetched])
    listed = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    list_topic = list_offsets.ListOffsetsTopic(name=TOPIC, partitions=[listed])
    return {
        "Produce of 1 record": (ApiKey.PRODUCE, 12, produce_request(TOPIC)),
        "Fetch of 1 record": (
            ApiKey.FETCH,
            17,
            fetch.FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=100, topics=[fetch_topic]),
        ),
        "ListOffsets": (
            ApiKey.LIST_OFFSETS,
            9,
            list_offsets.ListOffsetsRequest(topics=[list_topic]),
        ),
        "Metadata of 1 topic": (
            ApiKey.METADATA,
            12,
            metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)]),
        ),
    }


def cpu_microseconds(dispatcher: Dispatcher, connection: Any, frame: bytes) -> float:
    """For one request that never waits."""
    began = time.process_time()
    for _ in range(REQUESTS):
        response = dispatcher.respond(connection, frame)
        assert isinstance(response, list), "it waits"
        for chunk in response:
            if hasattr(chunk, "close"):
                chunk.close()
    return (time.process_time() - began) / REQUESTS * 1e6


def scrape(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        return bytes(answer.read())


async def main() -> int:
    async with broker({"kafkalite.metrics.port": 0}) as b:
        b.create_topic(TOPIC, 8)
        running = b._running
        topic = running.topics.get(TOPIC)
        assert topic is not None
        topic.partitions[1].append(build_batch([Record(value=b"x" * 10, timestamp=1)]))
        connection = SimpleNamespace(
            listener=running.listeners[0], client_host="", last_active=trio.current_time()
        )
        off, on = (
            Dispatcher(running.services),
            Dispatcher(running.services, Gates(count=RequestMetrics().count)),
        )
        for name, (api_key, version, body) in requests(topic.topic_id).items():
            frame = request(api_key, version, body)[4:]
            best = [1e9, 1e9]
            for _ in range(ROUNDS):
                for index, dispatcher in enumerate((off, on)):
                    spent = cpu_microseconds(dispatcher, connection, frame)
                    best[index] = min(best[index], spent)
            more = best[1] - best[0]
            print(f"{name:24} off {best[0]:6.1f} us, on {best[1]:6.1f} us, more {more:4.1f} us")
        for number in range(TOPIC_COUNT):
            running.topics.create(NewTopic(f"many-{number}", PARTITION_COUNT, 1))
        assert b.metrics_url is not None
        began, before = time.perf_counter(), time.process_time()
        size = len(await trio.to_thread.run_sync(scrape, b.metrics_url))
        print(
            f"scrape of {TOPIC_COUNT * PARTITION_COUNT} partitions: {size} bytes, "
            f"{time.perf_counter() - began:.2f} s, {time.process_time() - before:.2f} CPU s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(trio.run(main))
