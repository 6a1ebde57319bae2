"""Stories about a streams group: three members join, take and give back tasks, commit, and leave.

Their tasks have state or not, and with state standbys. A story is told step by step. Left out is
all that Apache Kafka does by and by: topics are there, those of states, too.
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
from conformance.differential.streams_requests import stateless, topology
from kafkalite.wire.messages.streams_group_heartbeat import (
    Endpoint,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

MEMBERS = ("m-1", "m-2", "m-3")
PARTITIONS = 4
LEAVES = -1
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass
class Worker:
    """A member: its epoch, and the tasks of each role that it was assigned last."""

    epoch: int = 0
    tasks: dict[str, list[TaskIds]] = field(default_factory=lambda: {key: [] for key in ROLES})

    def learn(self, answer: Any) -> None:
        if answer is None or answer.error_code:
            return
        self.epoch = max(0, answer.member_epoch)
        for role in ROLES:
            tasks = getattr(answer, role)
            if tasks is not None:
                self.tasks[role] = sorted(
                    (TaskIds(each.subtopology_id, sorted(each.partitions)) for each in tasks),
                    key=lambda each: each.subtopology_id,
                )


@dataclass
class Streams:
    """One group, and two topics that its members read."""

    pair: Pair
    name: str
    is_stateful: bool = False

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
        self.place(self.name, f"{self.name}-other", f"{self.name}-store")
        self.pair.settle()
        self.workers = {each: Worker() for each in MEMBERS}

    def place(self, *topics: str) -> None:
        """Make the topics."""
        for topic in topics:
            self.pair.create_topic(topic, PARTITIONS)

    def topology(self, which: int) -> Topology:
        """One subtopology, two of them, or the first once more with a later epoch."""
        parts = [self.stateful() if self.is_stateful else stateless(self.name)]
        if which == 1:
            parts.append(stateless(f"{self.name}-other", "1"))
        return topology(*parts, epoch=1 if which == 2 else 0)

    def stateful(self) -> Subtopology:
        store = TopicInfo(name=f"{self.name}-store")
        return Subtopology("0", [self.name], state_changelog_topics=[store])

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))
        self.close()

    def close(self) -> None:
        """The members leave. Else their sessions end in the middle of later stories, in each broker
        at another time; and a topology is seen with the next record of any group (streams_api)."""
        for member, worker in self.workers.items():
            if worker.epoch:
                streams_requests.beat(self.pair, self.name, member, member_epoch=LEAVES)


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, streams: Streams) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class HaveState(Step):
    """The tasks of those who join from now on have state."""

    def tell(self, streams: Streams) -> None:
        streams.is_stateful = True


@dataclass(frozen=True)
class Join(Step):
    member: str
    which: int
    process: str
    has_endpoint: bool

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        endpoint = Endpoint(host=self.member, port=1) if self.has_endpoint else None
        answer = streams_requests.join(
            streams.pair,
            streams.name,
            self.member,
            streams.topology(self.which),
            process_id=self.process,
            user_endpoint=endpoint,
        )
        worker.learn(answer)


@dataclass(frozen=True)
class Beat(Step):
    """A heartbeat, with the tasks that the member says it has, or without a word about them."""

    member: str
    later: int
    owned: str
    endpoints_known: int
    is_shutdown: bool

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        epoch = worker.epoch + self.later
        answer = streams_requests.beat(
            streams.pair,
            streams.name,
            self.member,
            member_epoch=epoch,
            endpoint_information_epoch=self.endpoints_known,
            shutdown_application=self.is_shutdown,
            **self.tasks(worker),
        )
        worker.learn(answer)

    def tasks(self, worker: Worker) -> dict[str, list[TaskIds]]:
        """The tasks of each role, as the request names them."""
        match self.owned:
            case "untold":
                return {}
            case "none":
                return {key: [] for key in ROLES}
            case "fewer":
                return worker.tasks | {"active_tasks": fewer(worker.tasks["active_tasks"])}
            case "no standbys":
                return worker.tasks | {"standby_tasks": []}
            case _:
                return dict(worker.tasks)


def fewer(tasks: Iterable[TaskIds]) -> list[TaskIds]:
    """The tasks without the first of each subtopology."""
    left = [TaskIds(each.subtopology_id, each.partitions[1:]) for each in tasks]
    return [each for each in left if each.partitions]


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
_join = st.builds(
    Join,
    member=_member,
    which=of(0, 0, 0, 0, 1, 2),
    process=of("p-1", "p-2", "p-3"),
    has_endpoint=st.booleans(),
)
_beat = st.builds(
    Beat,
    member=_member,
    later=_later,
    owned=of("all", "all", "all", "untold", "untold", "fewer", "none", "no standbys"),
    endpoints_known=of(0, 0, 1, 2, -1),
    is_shutdown=often(False, True, times=40),
)
_steps = st.lists(
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
            st.builds(Configure, of(0, 1, 2)),
        ),
    ),
    min_size=15,
    max_size=40,
)
# Half of the stories are about tasks with state, of which there are standbys from the start.
STORIES = st.one_of(
    _steps,
    _steps.map(lambda steps: [HaveState(), Configure(1), *steps]),
)
