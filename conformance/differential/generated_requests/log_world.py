"""The world of stories about one log: a topic of two partitions, batches of all kinds, and reading
from any offset."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.differential.broker_side import Body, Side
from conformance.differential.generated_requests.batches import ODDITIES
from conformance.differential.generated_requests.clock_world import PARTITIONS, Clocks, Step
from conformance.differential.transactional import TIMESTAMP
from conformance.harness.odd_batches import KINDS, pack
from conformance.harness.raw import old_message
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.record_batch import Record, build_batch

STAMP = "message.timestamp.type"
LIMIT = "max.message.bytes"
SEGMENTS = ("internal.segment.bytes", "segment.ms")
END_OF_TIME = 2**63 - 1
FIRST_WITH_IDS = 13


@dataclass
class Logs(Clocks):
    """A topic of two partitions, and two transactional ids that write to it."""

    limit: int = 1_048_588
    """The largest batch that the topic takes."""
    has_segments: bool = False
    """Segments end after a batch or two, or some time."""
    is_stamped: bool = False
    """The brokers stamp records."""
    written: set[int] = field(default_factory=set)
    """The times of records."""

    def create(self) -> None:
        configs = {
            "retention_ms": "-1",
            "segment_ms": str(END_OF_TIME),
            "index_interval_bytes": "0",
            "min_compaction_lag_ms": str(END_OF_TIME),
            "message_timestamp_after_max_ms": str(END_OF_TIME),
        }
        self.pair.create_topic(self.topic, len(PARTITIONS), **configs)

    def times(self) -> tuple[int, ...]:
        found = {each + more for each in self.written for more in (-1, 0, 1)}
        return tuple(sorted(each for each in found if 0 <= each <= END_OF_TIME))

    def named(self, side: Side, version: int, name: str) -> dict[str, Any]:
        """The topic as a Fetch or Produce of this version has it."""
        if version >= FIRST_WITH_IDS:
            return {"topic_id": side.topic_id(self.topic)}
        return {name: self.topic}

    def see(self) -> None:
        super().see()
        for partition in PARTITIONS:
            for offset in range(self.end_of(partition) + 2):
                Read(12, {partition: offset}, 1 << 20, 1 << 20, 0, -1, -1).tell(self)

    def produce(self, version: int, body: Body) -> Any:
        """Apache Kafka's answer; each stamp is later than the one before."""
        if self.is_stamped:
            time.sleep(0.002)
        return self.pair.ask(ApiKey.PRODUCE, version, body)[0]

    def end_of(self, partition: int) -> int:
        """The next offset of Apache Kafka's partition."""
        answer = self.pair.reference.ask(ApiKey.LIST_OFFSETS, 7, self.ends(-1))
        found = {each.partition_index: each.offset for each in answer.topics[0].partitions}
        end: int = found[partition]
        return end


@dataclass(frozen=True)
class Kind:
    """Records to write, whoever writes them."""

    count: int = 1
    codec: Compression = Compression.NONE
    times: tuple[int, ...] = (0,)
    first_ms: int = TIMESTAMP
    value_size: int = 20
    odd: str = ""

    def batch(self, logs: Logs, **producer: Any) -> bytes:
        if self.odd in KINDS:
            numbers = {name: producer[name] for name in producer if name != "is_transactional"}
            return pack(self.codec, TIMESTAMP, **KINDS[self.odd](self.codec, TIMESTAMP) | numbers)
        if self.odd in ODDITIES:
            return ODDITIES[self.odd](list(self.records()), {"compression": self.codec, **producer})
        if self.odd in OLD:
            return OLD[self.odd](self.codec)
        records = list(self.records())
        logs.written.update(each.timestamp for each in records)
        options: dict[str, Any] = {"compression": self.codec, **producer}
        if self.odd == "later offset":
            options["base_offset"] = 1_000_000
        if self.odd in AT_THE_LIMIT:
            size = len(build_batch(records, **producer))
            room = logs.limit + AT_THE_LIMIT[self.odd] - size
            if 0 < room < 10_000:
                return of_size(records, size + room, producer)
        return build_batch(records, **options)

    def records(self) -> Iterator[Record]:
        for number in range(self.count):
            later = self.times[number % len(self.times)]
            timestamp = self.first_ms
            if 0 <= timestamp + later <= END_OF_TIME:
                timestamp += later
            yield Record(timestamp=timestamp, key=b"k%d" % number, value=b"v" * self.value_size)


def of_size(records: list[Record], size: int, producer: dict[str, Any]) -> bytes:
    """A batch of exactly so many bytes, or of one more."""
    value = b"v" * size
    while len(made := build_batch([*records, records[0]._replace(value=value)], **producer)) > size:
        if not value:
            break
        value = value[: -max(1, min(len(value), len(made) - size))]
    return made


AT_THE_LIMIT = {"at the limit": 0, "one more than the limit": 1, "one less than the limit": -1}
# Batches that older brokers took.
OLD = {
    "message 0": lambda codec: old_message(0, b"k", b"v"),
    "message 1": lambda codec: old_message(1, b"k", b"v", TIMESTAMP),
    "messages 1": lambda codec: old_message(1, b"k", b"v", TIMESTAMP) * 2,
    "compressed messages 1": lambda codec: old_message(
        1, None, zlib.compress(old_message(1, b"k", b"v", TIMESTAMP), wbits=31), TIMESTAMP, 1
    ),
    "message 1 behind a batch": lambda codec: (
        build_batch([Record(timestamp=TIMESTAMP, value=b"v")])
        + old_message(1, b"k", b"v", TIMESTAMP)
    ),
    "two batches": lambda codec: (
        build_batch([Record(timestamp=TIMESTAMP, value=b"v")], compression=codec) * 2
    ),
}


@dataclass(frozen=True)
class Read(Step):
    version: int
    offsets: dict[int, int]
    """By partition."""
    most_bytes: int
    most_of_one: int
    isolation_level: int
    current_epoch: int
    last_epoch: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Logs)
        partitions = [
            FetchPartition(
                partition=partition,
                fetch_offset=offset,
                partition_max_bytes=self.most_of_one,
                current_leader_epoch=self.current_epoch,
                last_fetched_epoch=self.last_epoch,
            )
            for partition, offset in self.offsets.items()
        ]

        def body(side: Side) -> FetchRequest:
            topic = FetchTopic(partitions=partitions, **clocks.named(side, self.version, "topic"))
            return FetchRequest(
                isolation_level=self.isolation_level,
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=self.most_bytes,
                session_epoch=-1,
                topics=[topic],
            )

        clocks.pair.ask(ApiKey.FETCH, self.version, body)
