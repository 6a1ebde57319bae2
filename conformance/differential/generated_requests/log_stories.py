"""Stories about one log: batches of all kinds while its configs change, and records deleted; then
read from each offset, and looked up by each time, in old and new versions.

Nothing that the clock decides is in them, and no cleaner.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Body, Side
from conformance.differential.comparison import error_codes
from conformance.differential.generated_requests.batches import ODDITIES
from conformance.differential.generated_requests.clock_stories import End
from conformance.differential.generated_requests.clock_world import (
    IDS,
    PARTITIONS,
    TOPIC_RESOURCE,
    Clocks,
    Step,
)
from conformance.differential.generated_requests.vocabulary import CODECS, of, often
from conformance.differential.transactional import TIMESTAMP
from conformance.harness.odd_batches import KINDS, pack
from conformance.harness.raw import old_message
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

STAMP = "message.timestamp.type"
LIMIT = "max.message.bytes"
SEGMENTS = ("internal.segment.bytes", "segment.ms")
# Records are so long after the first, in milliseconds.
LATER_MS = (0, 1, 5, -1, 700, -700, 3_600_000, -3_600_000)
END_OF_TIME = 2**63 - 1
PRODUCER_IDS = (1000, 1001)
PRODUCE_VERSIONS, FETCH_VERSIONS, LIST_VERSIONS = range(3, 14), range(4, 19), range(1, 12)
SPECIAL_TIMES = tuple(range(-7, 1))
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
class Put(Step):
    """Batches for some partitions, in one request.

    Not those of a producer where segments end early: a batch that is refused for its sequence, or
    comes again, ends a segment of Apache Kafka if it would have had no room there.
    """

    version: int
    acks: int
    kinds: tuple[tuple[int, Kind], ...]
    producer: int | None = None
    sequence: int = -1
    epoch: int = 0
    may_repeat: bool = False
    """A partition may be there twice."""
    is_split: bool = False
    """The topic is there for each partition."""

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Logs)
        producer: dict[str, Any] = {}
        if self.producer is not None:
            if clocks.has_segments:
                return
            producer = {
                "producer_id": self.producer,
                "producer_epoch": self.epoch,
                "base_sequence": self.sequence,
            }
        data = [
            PartitionProduceData(index=partition, records=kind.batch(clocks, **producer))
            for partition, kind in (self.kinds if self.may_repeat else dict(self.kinds).items())
        ]
        parts = [[each] for each in data] if self.is_split else [data]

        def body(side: Side) -> ProduceRequest:
            named = clocks.named(side, self.version, "name")
            topics = [TopicProduceData(partition_data=part, **named) for part in parts]
            return ProduceRequest(acks=self.acks, timeout_ms=5000, topic_data=topics)

        clocks.produce(self.version, body)


@dataclass(frozen=True)
class PutInTransaction(Step):
    """A batch of a transaction, which stays open until it is ended."""

    number: int
    partition: int
    kind: Kind

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Logs)
        producer = clocks.producers[self.number]
        sequence = producer.sequences.get(self.partition, 0)

        def body(side: Side) -> ProduceRequest:
            producer_id, epoch = producer.ids[side]
            records = self.kind.batch(
                clocks,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
            data = PartitionProduceData(index=self.partition, records=records)
            topic = TopicProduceData(name=clocks.topic, partition_data=[data])
            return ProduceRequest(
                transactional_id=producer.id, acks=-1, timeout_ms=5000, topic_data=[topic]
            )

        if error_codes(clocks.produce(12, body)) == {0}:
            producer.next_sequence(self.partition, self.kind.count)


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


@dataclass(frozen=True)
class ReadOn(Step):
    """Both partitions as a consumer reads them that takes little at a time."""

    version: int
    most_bytes: int
    isolation_level: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Logs)
        for offset in range(max(map(clocks.end_of, PARTITIONS)) + 2):
            Read(
                self.version,
                dict.fromkeys(PARTITIONS, offset),
                self.most_bytes,
                self.most_bytes,
                self.isolation_level,
                -1,
                -1,
            ).tell(clocks)


@dataclass(frozen=True)
class LookUp(Step):
    """All times, in one version."""

    version: int
    isolation_level: int
    epoch: int

    def tell(self, clocks: Clocks) -> None:
        for timestamp in (*SPECIAL_TIMES, 1, *clocks.times(), END_OF_TIME):
            partitions = [
                ListOffsetsPartition(
                    partition_index=number, timestamp=timestamp, current_leader_epoch=self.epoch
                )
                for number in PARTITIONS
            ]
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=self.isolation_level,
                topics=[ListOffsetsTopic(name=clocks.topic, partitions=partitions)],
                timeout_ms=1000,
            )
            clocks.pair.ask(ApiKey.LIST_OFFSETS, self.version, request)


@dataclass(frozen=True)
class LookUpEpoch(Step):
    version: int
    current_epoch: int
    epoch: int

    def tell(self, clocks: Clocks) -> None:
        partitions = [
            OffsetForLeaderPartition(
                partition=number, current_leader_epoch=self.current_epoch, leader_epoch=self.epoch
            )
            for number in PARTITIONS
        ]
        topics = [OffsetForLeaderTopic(topic=clocks.topic, partitions=partitions)]
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
        clocks.pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, self.version, request)


@dataclass(frozen=True)
class DeleteRecords(Step):
    """No transaction is open then: compaction_stories.py says why."""

    version: int
    offsets: tuple[int, ...]

    def tell(self, clocks: Clocks) -> None:
        for producer in clocks.producers.values():
            for _ in range(2):
                producer.init()
                producer.state()
        partitions = [
            DeleteRecordsPartition(partition_index=number, offset=offset)
            for number, offset in enumerate(self.offsets)
        ]
        topic = DeleteRecordsTopic(name=clocks.topic, partitions=partitions)
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=10_000)
        clocks.pair.ask(ApiKey.DELETE_RECORDS, self.version, request)


@dataclass(frozen=True)
class Configure(Step):
    name: str
    value: str | None

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Logs)
        clocks.configure(TOPIC_RESOURCE, self.name, self.value, clocks.topic)
        if self.name == LIMIT and self.value is not None:
            clocks.limit = int(self.value)
        elif self.name in SEGMENTS:
            clocks.has_segments = True
        elif self.name == STAMP:
            clocks.is_stamped = self.value == "LogAppendTime"


@dataclass(frozen=True)
class SeeAll(Step):
    def tell(self, clocks: Clocks) -> None:
        clocks.see()


CONFIGS = of(
    *[(LIMIT, str(size)) for size in (200, 300, 500)] * 2,
    (LIMIT, "1048588"),
    (STAMP, "LogAppendTime"),
    *[(STAMP, "CreateTime")] * 2,
    *[("compression.type", name) for name in ("gzip", "lz4", "uncompressed", "producer")],
    ("message.timestamp.after.max.ms", "1000"),
    ("message.timestamp.after.max.ms", str(END_OF_TIME)),
    ("message.timestamp.before.max.ms", "1000000"),
    ("message.timestamp.before.max.ms", str(END_OF_TIME)),
    *[(SEGMENTS[0], str(size)) for size in (80, 300, 1000)],
    *[(SEGMENTS[1], str(ms)) for ms in (1000, 604_800_000)],
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
)
_kind = st.builds(
    Kind,
    count=of(1, 1, 2, 3, 7),
    codec=CODECS,
    times=st.lists(of(*LATER_MS), min_size=1, max_size=3).map(tuple),
    first_ms=of(*[TIMESTAMP] * 12, 0, 1, -1, END_OF_TIME, END_OF_TIME - 700, 2**53, 2**31, 2**32),
    value_size=of(0, 20, 20, 100, 130),
    odd=of(*[""] * 24, *sorted(AT_THE_LIMIT) * 3, *sorted(OLD), "later offset"),
)
_odd = st.builds(Kind, codec=CODECS, odd=of(*sorted(KINDS)))
_odder = st.builds(Kind, count=of(1, 3), codec=CODECS, odd=of(*sorted(set(ODDITIES) - {""})))
_partition, _isolation, _acks = of(*PARTITIONS), of(0, 1), of(-1, 1)
_pairs = st.lists(
    st.tuples(often(*PARTITIONS, 7, times=6), st.one_of(_kind, _kind, _kind, _odd)),
    min_size=1,
    max_size=3,
).map(tuple)
_version = of(*PRODUCE_VERSIONS)
_bytes = of(1, 61, 62, 100, 200, 350, 1000, 1 << 20, 0)
STEPS: tuple[Any, ...] = (
    *[st.builds(Put, _version, _acks, _pairs)] * 8,
    *[
        st.builds(
            Put,
            version=_version,
            acks=_acks,
            kinds=_pairs,
            producer=of(*PRODUCER_IDS),
            sequence=of(*range(9), 2**31 - 1, 2**31 - 2),
            epoch=of(0, 0, 0, 1),
        )
    ]
    * 4,
    st.builds(
        Put,
        version=_version,
        acks=_acks,
        kinds=st.lists(
            st.tuples(often(*PARTITIONS, 7, times=6), st.one_of(_kind, _odd, _odder)),
            min_size=1,
            max_size=4,
        ).map(tuple),
        may_repeat=st.booleans(),
        is_split=st.booleans(),
    ),
    *[st.builds(PutInTransaction, of(*IDS), _partition, _kind)] * 3,
    *[st.builds(End, of(*IDS), of(3, 4, 5), st.booleans(), of(0))] * 2,
    *[st.builds(lambda pair: Configure(*pair), CONFIGS)] * 5,
    st.builds(
        Read,
        version=of(*FETCH_VERSIONS),
        offsets=st.dictionaries(_partition, st.integers(-1, 40), min_size=1),
        most_bytes=_bytes,
        most_of_one=_bytes,
        isolation_level=_isolation,
        current_epoch=of(-1, -1, 0, 1),
        last_epoch=of(-1, -1, 0, 1),
    ),
    st.builds(ReadOn, of(*FETCH_VERSIONS), _bytes, _isolation),
    st.builds(LookUp, of(*LIST_VERSIONS), _isolation, of(-1, -1, 0, 1)),
    st.builds(LookUpEpoch, of(2, 3, 4), of(-1, 0, 1), of(-1, 0, 1, 7)),
    st.builds(DeleteRecords, of(0, 1, 2), st.lists(st.integers(-2, 30), max_size=2).map(tuple)),
    st.builds(SeeAll),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
