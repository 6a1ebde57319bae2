"""Stories about a queue: two members of a share group fetch, acknowledge, renew, release, go, and
crash.

Its records are written for good, or in transactions that are committed, aborted or left open, and
the group reads all of them, or what is committed.

A story is told step by step, and each step is over before the next, so that it is not chance that
decides who acquires a record. Locks last longer than a story, but for those that run out within a
step. Left out is all that Apache Kafka does by and by: the states are made by hand, not by
heartbeats.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.released import Key, until_released
from conformance.differential.generated_requests.taker import Said, Taker
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    NOTHING,
    REJECT,
    RELEASE,
    RENEW,
    Member,
    configure,
    delete_records,
    offsets,
    produce,
)
from conformance.differential.test_share_states import initialize, read, summarize
from conformance.differential.transactional import Transactions

MEMBERS = ("a", "b")
# There is something to fetch when the story begins, so that this is not waited for.
FIRST_WAIT_MS = 5000
WAIT_MS = 50
PATIENCE_MS = 5000
FINAL_EPOCH = -1
LOCK = "share.record.lock.duration.ms"
LONG_LOCK_MS = "60000"
SHORT_LOCK_SECONDS = 1.0
# A lock ends a little later than it should.
LATE_SECONDS = 0.3


@dataclass
class Queue:
    """One topic, one group, two members."""

    pair: Pair
    name: str
    has_new_start: bool = False
    """Records were deleted, and nothing was fetched since."""
    is_committed_only: bool = False
    """The group does not read what was aborted."""
    transactions: Transactions | None = None
    """The producer that has transactions, once there is one."""
    wait_ms: int = WAIT_MS
    """The time that the next fetch waits for records: longer at a leader that is new to them."""

    def open(self) -> None:
        pair, group = self.pair, self.name
        for side in pair.sides:
            side.forget()
        self.place()
        pair.settle()
        configure(pair, group, **{LOCK: LONG_LOCK_MS})
        initialize(pair, group, self.name, 0)
        self.takers = {each: Taker(Member(pair, group, self.name, each)) for each in MEMBERS}
        produce(pair, self.name, 1)
        first = self.takers["a"]
        first.learn(0, first.member.fetch(max_wait_ms=FIRST_WAIT_MS))

    @property
    def key(self) -> Key:
        """Its share partition."""
        return self.name, self.name, 0

    def place(self) -> None:
        """Make the topic."""
        self.pair.create_topic(self.name, 1)

    def begin_transactions(self) -> Transactions:
        """A producer that has its id."""
        begun = Transactions(self.pair, self.name, self.name)
        begun.init()
        return begun

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, queue: Queue) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Produce(Step):
    batches: tuple[int, ...]

    def tell(self, queue: Queue) -> None:
        produce(queue.pair, queue.name, *self.batches)


@dataclass(frozen=True)
class Transact(Step):
    """Batches of one transaction, which is ended, or goes on with the next step of this kind."""

    batches: tuple[int, ...]
    commit: bool | None

    def tell(self, queue: Queue) -> None:
        transactions = queue.transactions
        if transactions is None:
            transactions = queue.transactions = queue.begin_transactions()
        for count in self.batches:
            sequence = transactions.next_sequence(0, count)
            transactions.produce(12, sequence=sequence, count=count)
        if self.commit is not None:
            transactions.end(5, self.commit)
            transactions.state()


@dataclass(frozen=True)
class Fetch(Step):
    member: str
    said: tuple[Said, ...]
    version: int
    max_records: int
    batch_size: int
    mode: int
    later: int
    limits: tuple[tuple[str, Any], ...] = ()
    """Other fields of the request."""

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        before = taker.member.epoch
        # Apache Kafka learns of a new log start when it fetches. What it stores meanwhile may put
        # its own start back, or on past what is found to be aborted.
        has_said = before and not queue.has_new_start and not queue.is_committed_only
        queue.has_new_start = False
        said = [each.batch(taker.acquired) for each in self.said] if has_said else []
        taker.say(said)
        fields = {
            "max_records": self.max_records,
            "batch_size": self.batch_size,
            "share_acquire_mode": self.mode,
            "max_wait_ms": queue.wait_ms,
            # not for more bytes, which do not come
            "patience_ms": 0 if ("min_bytes", 1000) in self.limits else PATIENCE_MS,
        } | dict(self.limits)
        epoch = before + self.later
        answer = taker.member.fetch(*sorted(said), version=self.version, epoch=epoch, **fields)
        queue.wait_ms = WAIT_MS
        taker.learn(before, answer)


@dataclass(frozen=True)
class Say(Step):
    member: str
    said: tuple[Said, ...]
    version: int
    is_renewal: bool
    later: int

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        before = taker.member.epoch
        said = sorted(each.batch(taker.acquired) for each in self.said)
        taker.say(said)
        answer = taker.member.say(
            *said, version=self.version, epoch=before + self.later, is_renew_ack=self.is_renewal
        )
        taker.learn(before, answer)


@dataclass(frozen=True)
class Renew(Step):
    """A fetch that renews fetches nothing (KIP-1222)."""

    member: str
    said: tuple[Said, ...]

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        before = taker.member.epoch
        if before:
            said = sorted(each.batch(taker.acquired) for each in self.said)
            taker.say(said)
            taker.learn(before, taker.member.fetch(*said, is_renew_ack=True, **NOTHING))


@dataclass(frozen=True)
class Close(Step):
    """The member ends its session, and begins another with its next fetch."""

    member: str

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        with until_released(queue.pair, {queue.key: bool(taker.held)}):
            taker.member.fetch(epoch=FINAL_EPOCH, without_topics=True)
        taker.begin_anew()


@dataclass(frozen=True)
class Crash(Step):
    """The member's connections are cut: its session ends, and what it had is released."""

    member: str

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        with until_released(queue.pair, {queue.key: bool(taker.held)}):
            for side in queue.pair.sides:
                side.hang_up_everywhere(self.member)
        taker.begin_anew()


@dataclass(frozen=True)
class RunOut(Step):
    """The member fetches, and says nothing for longer than a lock lasts; other locks go on."""

    member: str

    def tell(self, queue: Queue) -> None:
        taker = queue.takers[self.member]
        before = taker.member.epoch
        configure(queue.pair, queue.name, **{LOCK: f"{SHORT_LOCK_SECONDS * 1000:.0f}"})
        held = set(taker.held)
        answer = taker.member.fetch(
            max_records=7, max_wait_ms=queue.wait_ms, patience_ms=PATIENCE_MS
        )
        taker.learn(before, answer)
        with until_released(queue.pair, {queue.key: taker.held != held}):
            configure(queue.pair, queue.name, **{LOCK: LONG_LOCK_MS})
            time.sleep(SHORT_LOCK_SECONDS + LATE_SECONDS)
        taker.held = held
        queue.has_new_start = False
        queue.wait_ms = WAIT_MS


@dataclass(frozen=True)
class Describe(Step):
    """The offsets of the group, and what the share coordinator knows."""

    def tell(self, queue: Queue) -> None:
        offsets(queue.pair, queue.name, [(queue.name, [0])])
        read(queue.pair, queue.name, queue.name, 0)
        summarize(queue.pair, queue.name, queue.name, 0)


@dataclass(frozen=True)
class DeleteRecords(Step):
    offset: int

    def tell(self, queue: Queue) -> None:
        # Apache Kafka runs into an error of its own where the beginning of an aborted batch is
        # deleted (fetchSubMap), and the records stay acquired.
        if queue.transactions is None:
            delete_records(queue.pair, queue.name, self.offset)
            queue.has_new_start = True


@dataclass(frozen=True)
class Configure(Step):
    name: str
    value: str

    def tell(self, queue: Queue) -> None:
        configure(queue.pair, queue.name, **{self.name: self.value})
        if self.name == "share.isolation.level":
            queue.is_committed_only = self.value == "read_committed"


_member = of(*MEMBERS)
_types = of(
    *[(ACCEPT,)] * 6,
    *[(RELEASE,)] * 4,
    (REJECT,),
    (RENEW,),
    (GAP,),
    (ACCEPT, RELEASE),
    (ACCEPT, RELEASE, REJECT),
    (GAP, ACCEPT),
    (5,),
    (),
)
_said = st.builds(
    Said,
    which=of(0, 0, 0, 0, 1, 2, None),
    first=st.integers(0, 20),
    count=of(1, 2, 3, 7, 0),
    types=_types,
)
_some = (
    of(0, 1, 1, 1, 2)
    .flatmap(lambda count: st.lists(_said, min_size=count, max_size=count))
    .map(tuple)
)
_later = often(0, 1, -1, 7, times=10)
_batches = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
STEPS: tuple[SearchStrategy[Step], ...] = (
    st.builds(Produce, _batches),
    st.builds(Transact, _batches, of(True, False, False, None)),
    *[
        st.builds(
            Fetch,
            member=_member,
            said=_some,
            version=of(2, 2, 1),
            max_records=of(500, 500, 1, 3, 7),
            batch_size=of(500, 500, 1, 2, 4),
            mode=of(0, 0, 1),
            later=_later,
            limits=of(
                *[()] * 16,
                (("max_bytes", 1),),
                (("min_bytes", 0),),
                (("min_bytes", 1000),),
                (("max_records", 0),),
                (("batch_size", 0),),
                (("partitions", (0, 7)),),
                (("partitions", (7,)),),
                (("forgotten", (0,)),),
                (("forgotten", (0,)), ("without_topics", True)),
                (("forgotten", (7,)),),
                (("without_topics", True),),
            ),
        )
    ]
    * 4,
    *[
        st.builds(
            Say,
            member=_member,
            said=_some,
            version=of(2, 2, 1),
            is_renewal=often(False, True, times=4),
            later=_later,
        )
    ]
    * 4,
    st.one_of(
        st.builds(Renew, member=_member, said=_some),
        st.builds(Close, member=_member),
        # It takes its time.
        st.one_of(*[st.builds(Crash, member=_member)] * 7, st.builds(RunOut, member=_member)),
        st.builds(Describe),
        st.builds(Describe),
        st.builds(DeleteRecords, st.integers(0, 12)),
        st.builds(
            lambda pair: Configure(*pair),
            of(
                ("share.delivery.count.limit", "2"),
                ("share.partition.max.record.locks", "100"),
                ("share.renew.acknowledge.enable", "false"),
                ("share.isolation.level", "read_committed"),
                ("share.isolation.level", "read_committed"),
                ("share.isolation.level", "read_uncommitted"),
            ),
        ),
    ),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
