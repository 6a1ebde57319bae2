"""Stories in which time passes: transactions time out, idle producers are forgotten, and records
grow too old or too many.

Each step in which time passes is over on both sides before the next begins, so that it does not
matter when exactly their clocks tick.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests.clock_world import (
    BROKER_RESOURCE,
    HOUR_MS,
    IDS,
    PARTITIONS,
    TICKS_SECONDS,
    TOPIC_RESOURCE,
    Clocks,
    See,
    Step,
)
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.transactional import LONGEST_MS, TIMESTAMP
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

TIMEOUT_MS = 1500
HALF_AN_HOUR_MS = str(HOUR_MS // 2)
A_DAY_MS = "86400000"
EXPIRATION = "producer.id.expiration.ms"


@dataclass(frozen=True)
class Write(Step):
    """Records of no producer, of now or an hour before."""

    partition: int
    count: int
    hours: int

    def tell(self, clocks: Clocks) -> None:
        record = Record(timestamp=TIMESTAMP - self.hours * HOUR_MS, value=b"x" * 40)
        data = PartitionProduceData(
            index=self.partition, records=build_batch([record] * self.count)
        )
        topic = TopicProduceData(name=clocks.topic, partition_data=[data])
        clocks.pair.ask(
            ApiKey.PRODUCE, 12, ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
        )


@dataclass(frozen=True)
class Init(Step):
    number: int
    version: int
    expected: bool
    bump: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        for _ in range(2):  # the first one ends the transaction that is there
            producer.init(
                self.version,
                expected=self.expected and self.version >= 3,
                bump=self.bump,
            )
            producer.state()


@dataclass(frozen=True)
class Produce(Step):
    """In the first generation of transactions the partition is added before."""

    number: int
    partition: int
    count: int
    is_second: bool
    bump: int
    more: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        if not self.is_second:
            producer.add(3, bump=self.bump, partitions=(self.partition,))
        sequence = producer.sequences.get(self.partition, 0)
        if not self.bump and not self.more:
            producer.next_sequence(self.partition, self.count)
        producer.produce(
            12 if self.is_second else 11,
            bump=self.bump,
            sequence=max(0, sequence + self.more),
            partition=self.partition,
            count=self.count,
        )


@dataclass(frozen=True)
class CommitOffsets(Step):
    number: int
    is_second: bool
    bump: int
    offset: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        if not self.is_second:
            producer.add_offsets(3, bump=self.bump)
        producer.commit_offsets(5 if self.is_second else 3, bump=self.bump, offset=self.offset)


@dataclass(frozen=True)
class End(Step):
    number: int
    version: int
    commit: bool
    bump: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        producer.end(self.version, self.commit, bump=self.bump)
        producer.state()


@dataclass(frozen=True)
class TimeOut(Step):
    """A transaction that is begun, and left alone until it is aborted. Its producer goes on as if
    it were not, and learns of it."""

    number: int
    partitions: tuple[int, ...]
    is_second: bool
    has_offsets: bool
    goes_on: tuple[Step, ...]
    is_known: bool

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        for timeout_ms in (LONGEST_MS, TIMEOUT_MS):
            producer.init(timeout_ms=timeout_ms)
            producer.state()
        for partition in self.partitions:
            Produce(self.number, partition, 2, self.is_second, 0, 0).tell(clocks)
        if self.has_offsets:
            CommitOffsets(self.number, self.is_second, 0, 7).tell(clocks)
        for side in clocks.pair.sides:
            self._until_over(clocks, side)
        producer.state()
        for step in self.goes_on:
            step.tell(clocks)
        producer.init(expected=self.is_known)
        producer.init()

    def _until_over(self, clocks: Clocks, side: Side) -> None:
        request = DescribeTransactionsRequest(transactional_ids=[clocks.producers[self.number].id])
        over = {"Empty", "CompleteAbort", "CompleteCommit"}
        side.until(
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            request,
            lambda answer: answer.transaction_states[0].transaction_state in over,
        )


@dataclass(frozen=True)
class Forget(Step):
    """Producers that have no transaction are forgotten: all of them are idle."""

    def tell(self, clocks: Clocks) -> None:
        clocks.configure(BROKER_RESOURCE, EXPIRATION, "1", "")
        time.sleep(TICKS_SECONDS)
        clocks.configure(BROKER_RESOURCE, EXPIRATION, A_DAY_MS, "")
        clocks.producers[0].producers()


@dataclass(frozen=True)
class Retain(Step):
    """Records that are too old, or too many, go."""

    name: str
    value: str

    def tell(self, clocks: Clocks) -> None:
        clocks.configure(TOPIC_RESOURCE, self.name, self.value, clocks.topic)
        clocks.pass_time(clocks.starts)
        clocks.configure(TOPIC_RESOURCE, self.name, "-1", clocks.topic)
        clocks.see()


@dataclass(frozen=True)
class Fetch(Step):
    """From an offset that may be gone."""

    offset: int
    isolation_level: int

    def tell(self, clocks: Clocks) -> None:
        clocks.producers[0].fetch_within(
            1 << 20, 1 << 20, isolation_level=self.isolation_level, offset=self.offset
        )


_number, _partition = of(*IDS), of(*PARTITIONS)
_bump = often(0, 1, -1, times=6)
_is_second = of(True, False)
STEPS = (
    *[st.builds(Write, _partition, st.integers(1, 4), of(0, 1, 1))] * 3,
    *[
        st.builds(
            Produce,
            number=_number,
            partition=_partition,
            count=st.integers(1, 3),
            is_second=_is_second,
            bump=_bump,
            more=often(0, 1, -1, -3, 100, times=6),
        )
    ]
    * 6,
    st.builds(CommitOffsets, _number, _is_second, _bump, st.integers(0, 9)),
    st.builds(Init, _number, st.integers(0, 5), st.booleans(), _bump),
    *[st.builds(End, _number, of(3, 4, 5), st.booleans(), _bump)] * 3,
    _number.flatmap(
        lambda number: st.builds(
            TimeOut,
            number=st.just(number),
            partitions=of((0,), (1,), (0, 1)),
            is_second=_is_second,
            has_offsets=st.booleans(),
            goes_on=st.lists(
                st.one_of(
                    st.builds(
                        Produce, st.just(number), _partition, of(1), _is_second, of(0), of(0)
                    ),
                    st.builds(CommitOffsets, st.just(number), _is_second, of(0), of(3)),
                    st.builds(End, st.just(number), of(3, 4, 5), st.booleans(), of(0)),
                ),
                max_size=2,
            ).map(tuple),
            is_known=st.booleans(),
        )
    ),
    st.builds(Forget),
    *[
        st.builds(
            lambda pair: Retain(*pair),
            of(
                ("retention.ms", HALF_AN_HOUR_MS),
                ("retention.ms", HALF_AN_HOUR_MS),
                ("retention.ms", "1"),
                ("retention.bytes", "0"),
                ("retention.bytes", "300"),
                ("retention.bytes", "700"),
            ),
        )
    ]
    * 2,
    st.builds(Fetch, st.integers(0, 20), of(0, 1)),
    *[st.builds(See)] * 2,
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
