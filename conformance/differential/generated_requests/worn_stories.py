"""Stories about the ends of transactions: producers whose epochs run out, clients of both
generations on one transactional id, markers that an administrator writes, and transaction.version
at other levels in between.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests import clock_stories
from conformance.differential.generated_requests.clock_stories import Forget, Init, TimeOut
from conformance.differential.generated_requests.clock_world import (
    IDS,
    PARTITIONS,
    Clocks,
    See,
    Step,
)
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.generated_requests.worn_world import (
    HIGHEST,
    OFFSETS,
    OFFSETS_PARTITIONS,
    Remembering,
    Worn,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


@dataclass(frozen=True)
class Finalize(Step):
    level: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        clocks.finalize(self.level)


@dataclass(frozen=True)
class Produce(clock_stories.Produce):
    """Below transaction.version 2 a partition is added first, also for later clients: else Apache
    Kafka refuses all that comes later for the transactional id."""

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        is_second = self.is_second and clocks.level == HIGHEST
        clock_stories.Produce(
            self.number, self.partition, self.count, is_second, self.bump, self.more
        ).tell(clocks)


@dataclass(frozen=True)
class CommitOffsets(clock_stories.CommitOffsets):
    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        is_second = self.is_second and clocks.level == HIGHEST
        clock_stories.CommitOffsets(self.number, is_second, self.bump, self.offset).tell(clocks)


@dataclass(frozen=True)
class End(Step):
    number: int
    version: int
    commit: bool
    bump: int
    other: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        producer = clocks.producers[self.number]
        version = clocks.at_level(self.version, 4)
        producer.end(version, self.commit, bump=self.bump, other=self.other)
        producer.state()


@dataclass(frozen=True)
class Verify(Step):
    """The leader of a partition asks if it is in the transaction, or adds it."""

    number: int
    partition: int
    version: int
    is_asked_only: bool
    bump: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        clocks.producers[self.number].add(
            clocks.at_level(self.version, 3),
            bump=self.bump,
            verify=self.is_asked_only,
            partitions=(self.partition,),
        )


@dataclass(frozen=True)
class Mark(Step):
    """An administrator ends what hangs, or what does not."""

    number: int
    partitions: tuple[int, ...]
    version: int
    commit: bool
    bump: int
    other: int
    coordinator_epoch: int
    generation: int
    topic: str = ""
    """The story's, unless it is another."""

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]

        def body(side: Side) -> WriteTxnMarkersRequest:
            producer_id, epoch = producer.ids[side]
            topic = WritableTxnMarkerTopic(
                name=self.topic or clocks.topic, partition_indexes=list(self.partitions)
            )
            marker = WritableTxnMarker(
                producer_id=producer_id + self.other,
                producer_epoch=epoch + self.bump if epoch < 2**15 - 1 else epoch,
                transaction_result=self.commit,
                topics=[topic],
                coordinator_epoch=self.coordinator_epoch,
                transaction_version=self.generation if self.version >= 2 else 0,
            )
            return WriteTxnMarkersRequest(markers=[marker])

        clocks.pair.ask(ApiKey.WRITE_TXN_MARKERS, self.version, body)
        producer.producers()


@dataclass(frozen=True)
class MarkAhead(Step):
    """A marker of a later epoch than any of the coordinator's, which catches up: else it could not
    end the next transaction, and would try for good."""

    number: int
    commit: bool
    generation: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        for _ in range(2):
            producer.init()
            producer.state()
        Mark(self.number, PARTITIONS, 2, self.commit, 1, 0, 0, self.generation).tell(clocks)
        for _ in range(2):
            producer.init()
            producer.state()


@dataclass(frozen=True)
class Wear(Step):
    """Epoch after epoch, until they run out."""

    number: int
    is_known: bool
    times: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        for _ in range(self.times):
            producer.init(expected=self.is_known)
            producer.state()


@dataclass(frozen=True)
class Repeat(Step):
    """The same end twice, as a client that has not heard of the first."""

    number: int
    version: int
    commit: bool
    is_otherwise: bool

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        producer = clocks.producers[self.number]
        version = clocks.at_level(self.version, 4)
        known = dict(producer.ids)
        for commit in (self.commit, self.commit ^ self.is_otherwise):
            producer.ids = dict(known)
            producer.end(version, commit)
            producer.state()


@dataclass(frozen=True)
class AsBefore(Step):
    """A client asks as the producer that it was, which is not the last, or asks again."""

    number: int
    back: int
    kind: str
    version: int
    other: int

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        producer = clocks.producers[self.number]
        assert isinstance(producer, Remembering)
        if self.kind == "again":
            for expected in (False, False, True):
                producer.init(expected=expected)
                producer.state()
        with producer.as_before(1 if self.kind == "again" else self.back):
            if self.kind in ("init", "again"):
                producer.init(max(3, self.version), expected=True, other=self.other)
            elif self.kind == "add":
                producer.add(clocks.at_level(self.version, 3), other=self.other)
            else:
                producer.end(
                    clocks.at_level(self.version, 4), self.kind == "commit", other=self.other
                )
        producer.state()


@dataclass(frozen=True)
class MarkOpen(Step):
    """An administrator ends a transaction that has just begun, in a partition, or its offsets."""

    number: int
    partition: int
    commit: bool
    bump: int
    generation: int
    has_offsets: bool

    def tell(self, clocks: Clocks) -> None:
        assert isinstance(clocks, Worn)
        producer = clocks.producers[self.number]
        for _ in range(2):
            producer.init()
            producer.state()
        if self.has_offsets:
            CommitOffsets(self.number, is_second=False, bump=0, offset=7).tell(clocks)
            topic, partitions = OFFSETS, tuple(range(OFFSETS_PARTITIONS))
        else:
            Produce(self.number, self.partition, 1, is_second=False, bump=0, more=0).tell(clocks)
            topic, partitions = "", (self.partition,)
        Mark(
            self.number,
            partitions,
            2,
            self.commit,
            self.bump,
            other=0,
            coordinator_epoch=0,
            generation=self.generation,
            topic=topic,
        ).tell(clocks)
        for require_stable in (False, True):
            producer.offsets(require_stable=require_stable)


@dataclass(frozen=True)
class Stray(Step):
    """A producer that a partition does not know, or has forgotten, begins with any sequence, and
    then with one before it."""

    number: int
    partition: int
    is_second: bool
    sequences: tuple[int, ...]

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        for _ in range(2):
            producer.init()
            producer.state()
        Forget().tell(clocks)
        for more in self.sequences:
            Produce(self.number, self.partition, 1, self.is_second, bump=0, more=more).tell(clocks)


@dataclass(frozen=True)
class Plain(Step):
    """A record outside of the transaction, by its producer."""

    number: int
    partition: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        sequence = producer.next_sequence(self.partition)
        producer.produce(12, sequence=sequence, partition=self.partition, transactional=False)


@dataclass(frozen=True)
class Listed(Step):
    states: tuple[str, ...]

    def tell(self, clocks: Clocks) -> None:
        clocks.pair.ask(
            ApiKey.LIST_TRANSACTIONS, 1, ListTransactionsRequest(state_filters=list(self.states))
        )


_number, _partition = of(*IDS), of(*PARTITIONS)
_bump = often(0, 1, -1, times=6)
_is_second = of(True, True, False)
STEPS = (
    *[
        st.builds(
            Produce,
            number=_number,
            partition=_partition,
            count=st.integers(1, 3),
            is_second=_is_second,
            bump=of(*[0] * 14, -1),
            more=often(0, 1, -1, 100, times=6),
        )
    ]
    * 6,
    st.builds(CommitOffsets, _number, _is_second, of(*[0] * 8, -1), st.integers(0, 9)),
    *[st.builds(Init, _number, st.integers(2, 5), st.booleans(), of(*[0] * 8, -1))] * 2,
    *[st.builds(End, _number, of(3, 4, 5, 5), st.booleans(), of(*[0] * 8, -1), of(*[0] * 8, 1))]
    * 5,
    st.builds(Verify, _number, _partition, of(3, 4, 5), st.booleans(), of(*[0] * 4, -1)),
    *[
        st.builds(
            Mark,
            number=_number,
            partitions=of((0,), (1,), (0, 1), (0, 7)),
            version=of(1, 2),
            commit=st.booleans(),
            bump=of(0, 0, -1),
            other=of(0, 0, 0, 1_000_000),
            coordinator_epoch=of(0, 0, -1),
            generation=of(0, 1, 2, 2),
        )
    ]
    * 2,
    st.builds(MarkAhead, _number, st.booleans(), of(0, 1, 2, 2)),
    st.builds(Wear, _number, st.booleans(), st.integers(1, 6)),
    st.builds(Repeat, _number, of(3, 4, 5), st.booleans(), st.booleans()),
    st.builds(Listed, of((), ("Ongoing",), ("CompleteCommit", "Empty"))),
    *[
        st.builds(
            AsBefore,
            number=_number,
            back=of(0, 0, 1, 1, 1, 2, 3),
            kind=of("init", "again", "again", "commit", "abort", "add"),
            version=of(3, 4, 5),
            other=often(0, 1, times=2),
        )
    ]
    * 3,
    *[
        st.builds(
            MarkOpen,
            number=_number,
            partition=_partition,
            commit=st.booleans(),
            bump=of(0, 0, 0, -1),
            generation=of(0, 1, 2, 2),
            has_offsets=st.booleans(),
        )
    ]
    * 2,
    *[
        st.builds(
            Stray,
            number=_number,
            partition=_partition,
            is_second=st.booleans(),
            sequences=of((5, 3), (0, -1), (100, 0, 50), (0, 0, -2, -1)),
        )
    ]
    * 2,
    st.builds(Plain, _number, _partition),
    st.builds(Finalize, of(1, 2, 2)),
    st.builds(Forget),
    _number.flatmap(
        lambda number: st.builds(
            TimeOut,
            number=st.just(number),
            partitions=of((0,), (0, 1)),
            is_second=st.just(False),
            has_offsets=st.booleans(),
            goes_on=st.lists(
                st.builds(Produce, st.just(number), _partition, of(1), _is_second, of(0), of(0)),
                max_size=1,
            ).map(tuple),
            is_known=st.booleans(),
        )
    ),
    st.builds(See),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
