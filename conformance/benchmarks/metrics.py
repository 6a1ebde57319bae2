"""The cost of metrics: `python -m conformance.benchmarks.metrics`.

Two brokers, one with metrics and one without, answer the same requests over a socket, in
alternating rounds. Counted is the processor time of the broker's thread for a whole request: epoll,
the frame's way through the broker, the response. The best round of each counts, and the share by
which one exceeds the other in pairs of rounds is given with its quartiles. Then a scrape of many
partitions is measured.
"""

import socket
import statistics
import sys
import time
import urllib.request
from typing import Any

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import TIMESTAMP, produce_request
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import fetch, list_offsets, metadata
from kafkalite.wire.record_batch import Record, build_batch

TOPIC = "tiny"
ROUNDS = 100
REQUESTS = 200
TOPIC_COUNT = 1000
PARTITION_COUNT = 10


def requests(b: broker) -> dict[str, bytes]:
    """The ones that a busy broker answers most, as small as they can be: whole frames."""
    fetched = fetch.FetchPartition(partition=1, partition_max_bytes=10)
    fetch_topic = fetch.FetchTopic(topic_id=b.topic_id(TOPIC), partitions=[fetched])
    listed = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    list_topic = list_offsets.ListOffsetsTopic(name=TOPIC, partitions=[listed])
    named = metadata.MetadataRequestTopic(name=TOPIC)
    fetching = fetch.FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=100, topics=[fetch_topic])
    listing = list_offsets.ListOffsetsRequest(topics=[list_topic])
    return {
        "Produce of 1 record": request(ApiKey.PRODUCE, 12, produce_request(TOPIC)),
        "Fetch of 1 record": request(ApiKey.FETCH, 17, fetching),
        "ListOffsets": request(ApiKey.LIST_OFFSETS, 9, listing),
        "Metadata of 1 topic": request(ApiKey.METADATA, 12, metadata.MetadataRequest([named])),
    }


class Side:
    """A broker in a thread of its own, and a connection to it."""

    def __init__(self, b: broker) -> None:
        self.broker = b
        b.create_topic(TOPIC, 8)
        topic = b._running.services.topics.get(TOPIC)
        assert topic is not None
        record = build_batch([Record(value=b"x" * 10, timestamp=TIMESTAMP)])
        b._call(lambda: topic.partitions[1].append(record))
        host, _, port = b.bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        assert b._thread is not None
        assert b._thread.ident is not None
        self._clock = time.pthread_getcpuclockid(b._thread.ident)

    def microseconds(self, frame: bytes) -> float:
        """The broker's processor time for one request."""
        began = time.clock_gettime(self._clock)
        for _ in range(REQUESTS):
            self._socket.sendall(frame)
            received = self._socket.recv(1 << 16)
            size = int.from_bytes(received[:4])
            while len(received) < 4 + size:
                received += self._socket.recv(1 << 16)
        return (time.clock_gettime(self._clock) - began) / REQUESTS * 1e6


def compare(name: str, sides: tuple[Side, Side], frames: tuple[bytes, bytes]) -> None:
    rounds = [
        tuple(side.microseconds(frame) for side, frame in zip(sides, frames, strict=True))
        for _ in range(ROUNDS)
    ]
    off, on = (min(each) for each in zip(*rounds, strict=True))
    quartiles = statistics.quantiles([(b - a) / a * 100 for a, b in rounds], n=4)
    print(
        f"{name:20} off {off:5.1f} us, on {on:5.1f} us, more {on - off:4.1f} us: "
        f"{(on - off) / off * 100:3.0f} % ({quartiles[0]:.0f} to {quartiles[2]:.0f})"
    )


def scrape(b: Any) -> None:
    for number in range(TOPIC_COUNT):
        b.create_topic(f"many-{number}", PARTITION_COUNT)
    assert b.metrics_url is not None
    began, before = time.perf_counter(), time.process_time()
    with urllib.request.urlopen(b.metrics_url) as answer:
        size = len(answer.read())
    print(
        f"scrape of {TOPIC_COUNT * PARTITION_COUNT} partitions: {size} bytes, "
        f"{time.perf_counter() - began:.2f} s, {time.process_time() - before:.2f} CPU s"
    )


def main() -> int:
    with broker() as without, broker({"kafkalite.metrics.port": 0}) as counting:
        sides = Side(without), Side(counting)
        frames = requests(without), requests(counting)
        for name in frames[0]:
            compare(name, sides, (frames[0][name], frames[1][name]))
        scrape(counting)
    return 0


if __name__ == "__main__":
    sys.exit(main())
