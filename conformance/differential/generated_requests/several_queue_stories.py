"""Stories about several queues: members of two groups fetch from three partitions at once, while
offsets are set and deleted, groups go, configs change, and records come in transactions over both
topics.

As in queue_stories.py each step is over before the next. The number of records is limited only
where one partition is fetched: of several, a hash decides in Apache Kafka whose turn is next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.generated_requests.several_queues import (
    ALL,
    GROUPS,
    PARTITIONS,
    SLOTS,
    Holder,
    Queues,
    Step,
)
from conformance.differential.generated_requests.taker import Said
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    NOTHING,
    REJECT,
    RELEASE,
    RENEW,
    configure,
    describe,
    offsets,
)
from conformance.differential.test_share_states import read, summarize
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)

Words = tuple[tuple[int, Said], ...]
"""Acknowledgements, each with its partition."""


def spoken(holder: Holder, words: Words) -> dict[int, list[tuple[int, ...]]]:
    """The acknowledgements by partition, in order."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for where, each in words:
        found.setdefault(where, []).append(each.batch(holder.acquired.get(where, ())))
    return {where: sorted(some) for where, some in found.items()}


@dataclass(frozen=True)
class Produce(Step):
    where: int
    batches: tuple[int, ...]

    def tell(self, queues: Queues) -> None:
        queues.produce(self.where, *self.batches)


@dataclass(frozen=True)
class Transact(Step):
    """Batches of one transaction over some partitions, which is ended, or goes on later."""

    where: tuple[int, ...]
    count: int
    commit: bool | None

    def tell(self, queues: Queues) -> None:
        begun = queues.transactions
        if begun is None:
            begun = queues.transactions = Transactions(queues.pair, queues.topic(0), queues.name)
            begun.init()
        for where in self.where:
            number, index = PARTITIONS[where]
            begun.topic = queues.topic(number)
            sequence = begun.next_sequence(where, self.count)
            begun.produce(12, sequence=sequence, count=self.count, partition=index)
        if self.commit is not None:
            begun.end(5, self.commit)
            begun.state()


@dataclass(frozen=True)
class Fetch(Step):
    number: int
    slot: str
    wanted: tuple[int, ...]
    words: Words
    limits: tuple[tuple[str, Any], ...]
    later: int

    def tell(self, queues: Queues) -> None:
        holder = queues.holders[self.number, self.slot]
        group = holder.group
        wanted = self.wanted[:1] if group in queues.shaken else self.wanted
        said = {}
        if holder.epoch and not group in queues.is_committed_only | queues.shaken:
            said = {
                where: some
                for where, some in spoken(holder, self.words).items()
                if where in holder.partitions
                and where in wanted
                and (group, where) not in queues.new_starts
            }
        queues.new_starts -= {(group, where) for where in wanted}
        limits = dict(self.limits) if len(wanted) == 1 else {}
        queues.fetch(holder, wanted, said, later=self.later, **limits)


@dataclass(frozen=True)
class Say(Step):
    number: int
    slot: str
    words: Words
    is_renewal: bool
    later: int

    def tell(self, queues: Queues) -> None:
        holder = queues.holders[self.number, self.slot]
        said = spoken(holder, self.words)
        queues.say(holder, said, later=self.later, is_renew_ack=self.is_renewal)


@dataclass(frozen=True)
class Renew(Step):
    """A fetch that renews fetches nothing (KIP-1222)."""

    number: int
    slot: str
    words: Words

    def tell(self, queues: Queues) -> None:
        holder = queues.holders[self.number, self.slot]
        said = {w: s for w, s in spoken(holder, self.words).items() if w in holder.partitions}
        if holder.epoch and holder.group not in queues.shaken:
            queues.fetch(holder, holder.partitions, said, is_renew_ack=True, **NOTHING)


@dataclass(frozen=True)
class Close(Step):
    number: int
    slot: str

    def tell(self, queues: Queues) -> None:
        queues.end(queues.holders[self.number, self.slot])


@dataclass(frozen=True)
class Crash(Step):
    """The connection of a member is cut: its session ends."""

    number: int
    slot: str

    def tell(self, queues: Queues) -> None:
        holder = queues.holders[self.number, self.slot]
        had_session = holder.epoch
        with queues.until_released(holder):
            for side in queues.pair.sides:
                side.hang_up_everywhere(holder.name)
        holder.begin_anew()
        # With its last connection, all partitions of a group are closed.
        group = holder.group
        if had_session and queues.is_empty(group) and group not in queues.shaken:
            queues.open_partitions(group)


@dataclass(frozen=True)
class See(Step):
    """The offsets of a group, and what the share coordinator knows."""

    number: int

    def tell(self, queues: Queues) -> None:
        pair, group = queues.pair, queues.group(self.number)
        offsets(pair, group, None)
        offsets(pair, group, [(queues.topic(0), [0, 1]), (queues.topic(1), [0])])
        for number, index in PARTITIONS:
            read(pair, group, queues.topic(number), index)
        summarize(pair, group, queues.topic(0), 0, 1)
        describe(pair, group)


@dataclass(frozen=True)
class SetOffsets(Step):
    number: int
    to: tuple[tuple[int, int], ...]

    def tell(self, queues: Queues) -> None:
        group = queues.group(self.number)
        topics: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
        for where, offset in self.to:
            number, index = PARTITIONS[where]
            partition = AlterShareGroupOffsetsRequestPartition(index, offset)
            topics.setdefault(queues.topic(number), []).append(partition)
        request = AlterShareGroupOffsetsRequest(
            group, [AlterShareGroupOffsetsRequestTopic(*each) for each in topics.items()]
        )
        queues.pair.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, request)
        queues.shaken.add(group)
        queues.ready.setdefault(group, set()).update(where for where, _ in self.to)


@dataclass(frozen=True)
class DeleteOffsets(Step):
    number: int
    topics: tuple[int, ...]

    def tell(self, queues: Queues) -> None:
        group = queues.group(self.number)
        topics = [
            DeleteShareGroupOffsetsRequestTopic(queues.topic(number)) for number in self.topics
        ]
        request = DeleteShareGroupOffsetsRequest(group, topics)
        queues.pair.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, request)
        queues.shaken.add(group)
        gone = {each for each in ALL if PARTITIONS[each][0] in self.topics}
        queues.ready[group] = queues.ready.get(group, set()) - gone


@dataclass(frozen=True)
class DeleteGroup(Step):
    number: int

    def tell(self, queues: Queues) -> None:
        group = queues.group(self.number)
        queues.pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest([group]))
        queues.shaken.add(group)
        queues.ready[group] = set()


@dataclass(frozen=True)
class Subscribe(Step):
    """A member comes, has the states begun that are missing, and goes."""

    number: int
    wanted: tuple[int, ...]

    def tell(self, queues: Queues) -> None:
        group = queues.group(self.number)
        if not set(self.wanted) <= queues.ready.get(group, set()):
            queues.shaken.add(group)
        queues.subscribe(group, self.wanted)


@dataclass(frozen=True)
class Configure(Step):
    number: int
    config: tuple[str, str]

    def tell(self, queues: Queues) -> None:
        group, (name, value) = queues.group(self.number), self.config
        configure(queues.pair, group, **{name: value})
        if name == "share.isolation.level":
            queues.is_committed_only.discard(group)
            if value == "read_committed":
                queues.is_committed_only.add(group)


_group, _slot = of(*GROUPS), of(*SLOTS)
_types = of(
    *[(ACCEPT,)] * 6,
    *[(RELEASE,)] * 4,
    *[(REJECT,)] * 2,
    *[(RENEW,)] * 2,
    (GAP,),
    (ACCEPT, RELEASE),
    (ACCEPT, RELEASE, REJECT),
)
_said = st.builds(
    Said,
    which=of(0, 0, 0, 0, 1, 2, None),
    first=st.integers(0, 20),
    count=of(1, 2, 3, 7),
    types=_types,
)
_words = st.lists(st.tuples(of(*ALL), _said), min_size=0, max_size=4).map(tuple)
_wanted = of((0, 1, 2), (0, 1, 2), (0, 1), (1, 2), (0, 2), (0,), (1,), (2,), ())
_later = often(0, 1, -1, 7, times=10)
_member: Mapping[str, Any] = {"number": _group, "slot": _slot}
_batches = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
STEPS: tuple[SearchStrategy[Step], ...] = (
    st.builds(Produce, of(*ALL), _batches),
    st.builds(Produce, of(*ALL), _batches),
    st.builds(
        Transact, of((0,), (0, 1), (0, 2), (0, 1, 2)), st.integers(1, 4), of(True, False, None)
    ),
    *[
        st.builds(
            Fetch,
            **_member,
            wanted=_wanted,
            words=_words,
            limits=of(
                *[()] * 8,
                (("max_records", 1),),
                (("max_records", 3), ("share_acquire_mode", 1)),
                (("max_records", 7), ("batch_size", 2)),
                (("batch_size", 1),),
                (("max_bytes", 1),),
            ),
            later=_later,
        )
    ]
    * 5,
    *[
        st.builds(
            Say,
            **_member,
            words=_words,
            is_renewal=often(False, True, times=4),
            later=_later,
        )
    ]
    * 4,
    st.one_of(
        st.builds(Renew, **_member, words=_words),
        st.builds(Close, **_member),
        st.builds(Crash, **_member),
    ),
    st.one_of(st.builds(See, _group), st.builds(See, _group), st.builds(See, _group)),
    st.one_of(
        st.builds(
            SetOffsets,
            _group,
            st.lists(
                st.tuples(of(*ALL), of(0, 1, 2, 5, 9, -1)),
                min_size=1,
                max_size=3,
                unique_by=lambda pair: pair[0],
            ).map(tuple),
        ),
        st.builds(DeleteOffsets, _group, of((0,), (1,), (0, 1))),
        st.builds(DeleteGroup, _group),
        st.builds(Subscribe, _group, of((0, 1), (2,), (0, 1, 2))),
        *[
            st.builds(
                Configure,
                _group,
                of(
                    ("share.delivery.count.limit", "2"),
                    ("share.delivery.count.limit", "7"),
                    ("share.partition.max.record.locks", "100"),
                    ("share.renew.acknowledge.enable", "false"),
                    ("share.isolation.level", "read_committed"),
                    ("share.isolation.level", "read_committed"),
                    ("share.isolation.level", "read_uncommitted"),
                    ("share.auto.offset.reset", "latest"),
                ),
            )
        ]
        * 3,
    ),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=20, max_size=60)
