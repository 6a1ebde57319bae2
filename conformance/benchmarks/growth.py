"""The growth of cost with what is stored: partitions written to, topics in Metadata, the log's
size."""

from __future__ import annotations

import random
import statistics
import struct
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from conformance.benchmarks.load import request, run
from conformance.benchmarks.sampling import (
    TIMESTAMP,
    Side,
    ask,
    cpu_seconds,
    create_topic,
    one_record,
    produce_request,
    produced,
    wait_until_led,
)
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import create_partitions, create_topics, fetch, metadata

CONNECTIONS = 8
MOST_AT_ONCE = 2500  # partitions in one request: Apache Kafka takes no 10,000
GAP = 1_000_000
SEGMENT_BYTES = 1000 * GAP
IN_A_HOLE = 1000  # offsets of a batch whose records are not there
FETCHES = 500
TIMES = 3
MB = 1_000_000


class Growth:
    """One figure for each size, smallest first, on a broker of its own. Each is the median of
    `TIMES`: a size that was left cannot be made again."""

    def __init__(self, side: Side, *, sizes: list[int]) -> None:
        self.side = side
        self.sizes = sizes[:2] if side.quick else sizes
        self.seconds = 0.2 if side.quick else 2.0
        # A JVM that has just started is compiling for longer than this.
        self.warm_up = 0.1 if side.quick else 8.0
        self.broker = side.start({"log.index.interval.bytes": "4096"})

    def sample(self) -> dict[str, float]:
        points = {str(size): self.cost(size) for size in self.sizes}
        return {**points, "steepest rise": steepest_rise(list(points.values()))}

    def cost(self, size: int) -> float:
        raise NotImplementedError

    def microseconds(self, frames: bytes) -> float:
        """CPU of the broker for one of these requests, which are sent in turn."""
        run(self.broker.bootstrap, frames, connections=CONNECTIONS, seconds=self.warm_up)
        self.warm_up = self.seconds / 2
        return statistics.median(self._once(frames) for _ in range(TIMES))

    def _once(self, frames: bytes) -> float:
        before = cpu_seconds(self.broker.pid)
        load = run(self.broker.bootstrap, frames, connections=CONNECTIONS, seconds=self.seconds)
        return (cpu_seconds(self.broker.pid) - before) / load.answer_count * 1e6

    def close(self) -> None:
        self.side.stop(self.broker)


def steepest_rise(costs: Sequence[float]) -> float:
    """The most that any size costs, for each smaller one: 1 or less where cost never grows."""
    return max(more / less for index, less in enumerate(costs[:-1]) for more in costs[index + 1 :])


class Partitions(Growth):
    """Tiny Produce requests, spread over all the partitions of a topic."""

    def cost(self, size: int) -> float:
        topic = f"partitions-{size}"
        create_topic(self.broker, topic, min(size, MOST_AT_ONCE))
        for count in range(2 * MOST_AT_ONCE, size + 1, MOST_AT_ONCE):
            self.grow(topic, count)
        frames = [
            request(ApiKey.PRODUCE, 12, produce_request(topic, partition))
            for partition in range(size)
        ]
        random.Random(1).shuffle(frames)
        # Every partition's files are made before the clock starts.
        with RawConnection(self.broker.bootstrap, 60) as connection:
            for frame in frames:
                connection.ask(frame[4:])
        return self.microseconds(b"".join(frames))

    def grow(self, topic: str, count: int) -> None:
        wanted = create_partitions.CreatePartitionsTopic(name=topic, count=count, assignments=None)
        body = create_partitions.CreatePartitionsRequest(topics=[wanted], timeout_ms=60_000)
        done = ask(self.broker.bootstrap, ApiKey.CREATE_PARTITIONS, 3, body).results[0]
        assert done.error_code == ErrorCode.NONE, done
        wait_until_led(self.broker, topic, count)


class Topics(Growth):
    """Metadata of all topics, for each of them."""

    made = 0

    def cost(self, size: int) -> float:
        topics = [
            create_topics.CreatableTopic(
                name=f"topic-{number}", num_partitions=1, replication_factor=1
            )
            for number in range(self.made, size)
        ]
        body = create_topics.CreateTopicsRequest(topics=topics, timeout_ms=60_000)
        run(self.broker.bootstrap, request(ApiKey.CREATE_TOPICS, 7, body), seconds=0)
        self.made = size
        time.sleep(1)
        everything = metadata.MetadataRequest(topics=None)
        return self.microseconds(request(ApiKey.METADATA, 12, everything)) / size


class LogSize(Growth):
    """Fetches at random offsets of a log that is mostly holes.

    Batches of one record, one in every `GAP` bytes; between them batches that consist of a head and
    a hole. The broker finds any of them as it would in a log without holes.
    """

    def cost(self, size: int) -> float:
        topic = f"log-{size}"
        topic_id = create_topic(self.broker, topic)
        for _ in range(2):
            produced(self.broker, topic)
        self.broker.stop()
        directory = self.broker.data_dir / f"{topic}-0"
        small = sparse_log(directory, size * MB, GAP, SEGMENT_BYTES)
        self.broker.start()
        chosen = random.Random(1).choices(small, k=FETCHES)
        return self.microseconds(b"".join(self.fetch(topic, topic_id, offset) for offset in chosen))

    @staticmethod
    def fetch(topic: str, topic_id: uuid.UUID, offset: int) -> bytes:
        partition = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=100)
        topics = [fetch.FetchTopic(topic=topic, topic_id=topic_id, partitions=[partition])]
        body = fetch.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=100, topics=topics)
        return request(ApiKey.FETCH, 17, body)


def sparse_log(directory: Path, size: int, gap: int, segment_size: int) -> list[int]:
    """Replace a log by one that is `size` bytes long; the offsets of its small batches."""
    for path in directory.glob("0*"):
        path.unlink()
    offsets: list[int] = []
    for start in range(0, size, segment_size):
        sparse_segment(directory, min(segment_size, size - start), gap, offsets)
    return offsets


def sparse_segment(directory: Path, size: int, gap: int, offsets: list[int]) -> None:
    """One segment behind those there are; adds the offsets of its small batches."""
    base = offset = offsets[-1] + 1 + IN_A_HOLE if offsets else 0
    small = one_record()
    index = b""
    with (directory / f"{base:020d}.log").open("wb") as log:
        for position in range(0, size, gap):
            log.seek(position)
            log.write(struct.pack(">q", offset) + small[8:])
            offsets.append(offset)
            offset += 1 + IN_A_HOLE
            hole_at = position + len(small)
            index += struct.pack(">ii", offset - 1 - base, hole_at)
            log.write(hole(offset - IN_A_HOLE, gap - len(small)))
        log.truncate(size)
    (directory / f"{base:020d}.index").write_bytes(index)
    last = struct.pack(">qi", TIMESTAMP, offset - 1 - base)
    (directory / f"{base:020d}.timeindex").write_bytes(last)


def hole(base_offset: int, size: int) -> bytes:
    """The head of a batch of so many bytes, of which there are no more."""
    first = struct.pack(">qiibI", base_offset, size - 12, 0, 2, 0)
    time_ms = TIMESTAMP
    return first + struct.pack(
        ">hiqqqhii", 0, IN_A_HOLE - 1, time_ms, time_ms, -1, -1, -1, IN_A_HOLE
    )
