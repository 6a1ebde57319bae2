"""Stories about a streams group: three members join, take and give back tasks, commit, and leave.

A story is told step by step. Left out is all that Apache Kafka does by and by: topics are there,
and no topology has internal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from conformance.differential import streams_requests
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.share_requests import configure
from conformance.differential.streams_requests import owning, stateless, topology
from kafkalite.wire.messages.streams_group_heartbeat import Topology

MEMBERS = ("m-1", "m-2", "m-3")
PARTITIONS = 4
LEAVES = -1


@dataclass
class Worker:
    """A member: its epoch, and the active tasks that it was assigned last."""

    epoch: int = 0
    active: dict[str, list[int]] = field(default_factory=dict)

    def learn(self, answer: Any) -> None:
        if answer is None or answer.error_code:
            return
        self.epoch = max(0, answer.member_epoch)
        if answer.active_tasks is not None:
            self.active = {
                f"_{each.subtopology_id}": sorted(each.partitions) for each in answer.active_tasks
            }


@dataclass
class Streams:
    """One group, and two topics that its members read."""

    pair: Pair
    name: str

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
        self.place(self.name, f"{self.name}-other")
        self.pair.settle()
        self.workers = {each: Worker() for each in MEMBERS}

    def place(self, *topics: str) -> None:
        """Make the topics."""
        for topic in topics:
            self.pair.create_topic(topic, PARTITIONS)

    def topology(self, which: int) -> Topology:
        """One subtopology, two of them, or the first once more with a later epoch."""
        parts = [stateless(self.name)]
        if which == 1:
            parts.append(stateless(f"{self.name}-other", "1"))
        return topology(*parts, epoch=1 if which == 2 else 0)

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, streams: Streams) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Join(Step):
    member: str
    which: int
    process: str

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        answer = streams_requests.join(
            streams.pair,
            streams.name,
            self.member,
            streams.topology(self.which),
            process_id=self.process,
        )
        worker.learn(answer)


@dataclass(frozen=True)
class Beat(Step):
    """A heartbeat, with the tasks that the member says it has, or without a word about them."""

    member: str
    later: int
    owned: str

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        active = {name: list(tasks) for name, tasks in worker.active.items()}
        if self.owned == "fewer":
            active = {name: tasks[1:] for name, tasks in active.items() if tasks[1:]}
        elif self.owned == "none":
            active = {}
        fields = {} if self.owned == "untold" else owning(**active)
        epoch = worker.epoch + self.later
        answer = streams_requests.beat(
            streams.pair, streams.name, self.member, member_epoch=epoch, **fields
        )
        worker.learn(answer)


@dataclass(frozen=True)
class Leave(Step):
    member: str

    def tell(self, streams: Streams) -> None:
        streams_requests.beat(streams.pair, streams.name, self.member, member_epoch=LEAVES)
        streams.workers[self.member] = Worker()


@dataclass(frozen=True)
class Describe(Step):
    def tell(self, streams: Streams) -> None:
        streams_requests.describe(streams.pair, streams.name)


@dataclass(frozen=True)
class Commit(Step):
    """An offset, committed and read back."""

    member: str
    later: int
    partition: int

    def tell(self, streams: Streams) -> None:
        pair, group = streams.pair, streams.name
        epoch = streams.workers[self.member].epoch + self.later
        streams_requests.commit(
            pair, group, streams.name, epoch, self.member, version=9, partition=self.partition
        )
        streams_requests.fetch(pair, group, streams.name, self.member, epoch)


@dataclass(frozen=True)
class Configure(Step):
    standbys: int

    def tell(self, streams: Streams) -> None:
        value = str(self.standbys)
        configure(streams.pair, streams.name, **{"streams.num.standby.replicas": value})


_member = of(*MEMBERS)
_later = often(0, -1, 1, 5, times=8)
_join = st.builds(Join, member=_member, which=of(0, 0, 0, 0, 1, 2), process=of("p-1", "p-2", "p-3"))
_beat = st.builds(
    Beat,
    member=_member,
    later=_later,
    owned=of("all", "all", "all", "untold", "untold", "fewer", "none"),
)
STORIES = st.lists(
    st.one_of(
        _join,
        _beat,
        _beat,
        _beat,
        st.builds(Describe),
        st.one_of(
            st.builds(Leave, member=_member),
            st.builds(
                Commit, member=_member, later=_later, partition=st.integers(0, PARTITIONS - 1)
            ),
            st.builds(Configure, of(0, 1)),
        ),
    ),
    min_size=15,
    max_size=40,
)
