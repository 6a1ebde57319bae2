"""Stories in which the cleaner compacts: keys are written again and deleted, also in transactions
that are committed, aborted and left open, and the cleaner has its rounds in between.

A round is over on both sides before the next step begins. What has been cleaned once is not
dirty, so that both have as many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests.clock_stories import (
    A_DAY_MS,
    HALF_AN_HOUR_MS,
    CommitOffsets,
    End,
    Forget,
    Init,
)
from conformance.differential.generated_requests.clock_world import (
    HOUR_MS,
    IDS,
    PARTITIONS,
    TOPIC_RESOURCE,
    Clocks,
    See,
    Step,
)
from conformance.differential.generated_requests.compaction_world import (
    MIN_LAG,
    NEVER,
    Compacted,
)
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.transactional import TIMESTAMP
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Record, build_batch


def end_all(clocks: Clocks) -> None:
    """Abort what is open, and begin new epochs."""
    for producer in clocks.producers.values():
        for _ in range(2):
            producer.init()
            producer.state()


Pairs = tuple[tuple[str | None, str | None], ...]


@dataclass(frozen=True)
class Put(Step):
    """Keys and values, of now or an hour before; by a producer, or none."""

    partition: int
    pairs: Pairs
    hours: int
    compression: Compression
    number: int | None = None
    is_second: bool = True
    is_transactional: bool = True

    def tell(self, clocks: Clocks) -> None:
        producer = None if self.number is None else clocks.producers[self.number]
        sequence = -1
        if producer is not None:
            if self.is_transactional and not self.is_second:
                producer.add(3, partitions=(self.partition,))
            sequence = producer.next_sequence(self.partition, len(self.pairs))

        def body(side: Side) -> ProduceRequest:
            nobody = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
            producer_id, epoch = nobody if producer is None else producer.ids[side]
            is_in_transaction = producer is not None and self.is_transactional
            records = build_batch(
                self.records(),
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=is_in_transaction,
                compression=self.compression,
            )
            data = PartitionProduceData(index=self.partition, records=records)
            return ProduceRequest(
                transactional_id=producer.id if producer and is_in_transaction else None,
                acks=-1,
                timeout_ms=5000,
                topic_data=[TopicProduceData(name=clocks.topic, partition_data=[data])],
            )

        clocks.pair.ask(ApiKey.PRODUCE, 12 if self.is_second else 11, body)

    def records(self) -> list[Record]:
        return [
            Record(
                timestamp=TIMESTAMP - self.hours * HOUR_MS + place,
                key=None if key is None else key.encode(),
                value=None if value is None else value.encode(),
            )
            for place, (key, value) in enumerate(self.pairs)
        ]


@dataclass(frozen=True)
class Clean(Step):
    """A round of the cleaner, with tombstones that are kept for so long after it, or not at all."""

    min_lag_ms: str
    keep_ms: str
    is_seen: bool
    has_ended: bool
    """True if no transaction is open, which keeps records from being cleaned."""

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Compacted)
        if self.has_ended:
            end_all(clocks)
        clocks.configure(TOPIC_RESOURCE, "delete.retention.ms", self.keep_ms, clocks.topic)
        clocks.clean(self.min_lag_ms)
        if self.is_seen:
            clocks.see()


@dataclass(frozen=True)
class Rounds(Step):
    """One round after the other over the same records, with something to clean in each: tombstones
    and markers stay in one and go in the next.

    The records may be of a transaction that ends, and producers may be forgotten, of which the last
    batch stays.
    """

    partition: int
    pairs: Pairs
    number: int | None
    version: int
    commit: bool
    keeps_ms: tuple[str, ...]
    is_forgotten: bool

    def tell(self, clocks: Clocks) -> None:
        end_all(clocks)
        Put(
            self.partition,
            self.pairs,
            hours=0,
            compression=Compression.NONE,
            number=self.number,
            is_second=False,
        ).tell(clocks)
        if self.number is not None:
            End(self.number, self.version, self.commit, bump=0).tell(clocks)
        if self.is_forgotten:
            Forget().tell(clocks)
        for keep_ms in self.keeps_ms:
            fill(self.partition, clocks)
            Clean("0", keep_ms, is_seen=True, has_ended=False).tell(clocks)


FILLING = (("filling", "f" * 180),)


def fill(partition: int, clocks: Clocks) -> None:
    """Have something to clean: two of them make a segment of one."""
    for _ in range(2):
        Put(partition, FILLING, hours=0, compression=Compression.NONE).tell(clocks)


@dataclass(frozen=True)
class CleanOverdue(Step):
    """A round that no ratio asks for: records have waited for long enough."""

    max_lag_ms: str

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Compacted)
        fill(PARTITIONS[0], clocks)
        # The lags must be in order after each change.
        begin = (
            ("min.cleanable.dirty.ratio", "1"),
            (MIN_LAG, "0"),
            ("max.compaction.lag.ms", self.max_lag_ms),
        )
        end = (
            ("max.compaction.lag.ms", NEVER),
            (MIN_LAG, NEVER),
            ("min.cleanable.dirty.ratio", "0"),
        )
        for name, value in begin:
            clocks.configure(TOPIC_RESOURCE, name, value, clocks.topic)
        clocks.pass_time(clocks.seen_of_cleaner)
        for name, value in end:
            clocks.configure(TOPIC_RESOURCE, name, value, clocks.topic)
        clocks.see()


@dataclass(frozen=True)
class DeleteRecords(Step):
    """Refused while nothing but compaction is the topic's policy.

    No transaction is open then: of one from before the log start Apache Kafka says that it begins
    with the batch that the log start is in, and so that records are stable up to a place before it.
    """

    partition: int
    offset: int

    def tell(self, clocks: Clocks) -> None:
        end_all(clocks)
        partition = DeleteRecordsPartition(partition_index=self.partition, offset=self.offset)
        topic = DeleteRecordsTopic(name=clocks.topic, partitions=[partition])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=10_000)
        clocks.pair.ask(ApiKey.DELETE_RECORDS, 2, request)


@dataclass(frozen=True)
class Keep(Step):
    """Another policy, and for how long records are kept with it."""

    policy: str
    retention_ms: str

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Compacted)
        clocks.configure(TOPIC_RESOURCE, "cleanup.policy", self.policy, clocks.topic)
        clocks.configure(TOPIC_RESOURCE, "retention.ms", self.retention_ms, clocks.topic)
        clocks.pass_time(clocks.seen_of_cleaner)
        clocks.configure(TOPIC_RESOURCE, "retention.ms", "-1", clocks.topic)
        clocks.see()


@dataclass(frozen=True)
class Read(Step):
    """From an offset that may have been cleaned away."""

    offset: int
    most_bytes: int
    isolation_level: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Compacted)
        clocks.read(self.offset, self.most_bytes, self.isolation_level)


_number, _partition = of(*IDS), of(*PARTITIONS)
_is_second = of(True, False)
_pairs = st.lists(
    st.tuples(often("a", "b", "c", "d", times=1), of("x", "yy", "a longer value" * 3, None, None)),
    min_size=1,
    max_size=4,
).map(tuple)
_compression = often(Compression.NONE, Compression.GZIP, Compression.LZ4, times=3)
_hours = of(0, 1, 1)
STEPS = (
    *[st.builds(Put, _partition, _pairs, _hours, _compression)] * 4,
    *[
        st.builds(
            Put,
            partition=_partition,
            pairs=_pairs,
            hours=_hours,
            compression=_compression,
            number=_number,
            is_second=_is_second,
            is_transactional=often(True, False, times=5),
        )
    ]
    * 6,
    st.builds(Put, _partition, of((("a", "x"), (None, "y"))), of(0), of(Compression.NONE)),
    st.builds(CommitOffsets, _number, _is_second, of(0), st.integers(0, 9)),
    st.builds(Init, _number, st.integers(0, 5), st.booleans(), of(0)),
    *[st.builds(End, _number, of(3, 4, 5), st.booleans(), of(0))] * 4,
    *[
        st.builds(
            Clean,
            often("0", HALF_AN_HOUR_MS),
            of("0", "0", "1", A_DAY_MS),
            st.booleans(),
            of(True, True, False),
        )
    ]
    * 4,
    *[
        st.builds(
            Rounds,
            partition=_partition,
            pairs=_pairs,
            number=of(None, *IDS),
            version=of(4, 5),
            commit=st.booleans(),
            keeps_ms=st.lists(of("0", "0", A_DAY_MS), min_size=2, max_size=3).map(tuple),
            is_forgotten=st.booleans(),
        )
    ]
    * 3,
    st.builds(CleanOverdue, of("1", HALF_AN_HOUR_MS, A_DAY_MS)),
    st.builds(DeleteRecords, _partition, st.integers(-1, 12)),
    st.builds(
        Keep,
        of("compact", "compact,delete", "delete", "compact,delete"),
        of("-1", HALF_AN_HOUR_MS, "1"),
    ),
    st.builds(Forget),
    *[st.builds(Read, st.integers(0, 20), of(1, 150, 1 << 20), of(0, 1))] * 2,
    *[st.builds(See)] * 2,
)
STORIES = st.lists(st.one_of(*STEPS), min_size=20, max_size=50)
