"""Stories about one log: batches of all kinds while its configs change, and records deleted; then
read from each offset, and looked up by each time, in old and new versions.

Nothing that the clock decides is in them, and no cleaner. Producers' batches come only where
segments do not end early: one that is refused for its sequence, or comes again, ends a segment of
Apache Kafka if it would have had no room there. Nor does a topic that is there get another
index.interval.bytes, which segments of Apache Kafka take up when they begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.comparison import error_codes
from conformance.differential.generated_requests.batches import ODDITIES
from conformance.differential.generated_requests.clock_stories import End
from conformance.differential.generated_requests.clock_world import (
    IDS,
    PARTITIONS,
    TOPIC_RESOURCE,
    Clocks,
    See,
    Step,
)
from conformance.differential.generated_requests.log_world import (
    AT_THE_LIMIT,
    END_OF_TIME,
    LIMIT,
    OLD,
    SEGMENTS,
    STAMP,
    Kind,
    Logs,
    Read,
)
from conformance.differential.generated_requests.vocabulary import CODECS, of, often
from conformance.differential.transactional import TIMESTAMP
from conformance.harness.odd_batches import KINDS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
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

# Records are so long after the first, in milliseconds.
LATER_MS = (0, 1, 5, -1, 700, -700, 3_600_000, -3_600_000)
PRODUCER_IDS = (1000, 1001)
PRODUCE_VERSIONS, FETCH_VERSIONS, LIST_VERSIONS = range(3, 14), range(4, 19), range(1, 12)
SPECIAL_TIMES = tuple(range(-7, 1))


@dataclass(frozen=True)
class Put(Step):
    """Batches for some partitions, in one request."""

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
    st.builds(See),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
