"""A streams group in a story: its members, and the topics that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.differential import streams_requests
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.streams_requests import stateless, topology
from kafkalite.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

MEMBERS = ("m-1", "m-2", "m-3")
PARTITIONS = 4
# The topics beside the first one; the last two are internal to the application.
SUFFIXES = ("-other", "-store", "-between")
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
    counts: dict[str, int] = field(default_factory=dict)
    """The topics that are there, with the number of their partitions."""
    has_endpoints: bool = False
    """Members tell where they are asked for their states."""
    has_changed_topics: bool = False

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
        self.make(*(f"{self.name}{suffix}" for suffix in ("", *SUFFIXES)))
        self.workers = {each: Worker() for each in MEMBERS}

    def make(self, *topics: str) -> None:
        """Make the topics, and wait until they are known."""
        self.place(*topics)
        self.pair.settle()
        self.counts |= dict.fromkeys(topics, PARTITIONS)

    def place(self, *topics: str) -> None:
        """Make the topics where they are to be."""
        for topic in topics:
            self.pair.create_topic(topic, PARTITIONS)

    def told(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a member's heartbeat, without its endpoint if the topics may not fit: while
        they do not, each heartbeat with one is an error of Apache Kafka's own (-1).

        Tasks that there are not are left out then, too: of a heartbeat that is refused for them
        Apache Kafka keeps what it saw of the topics, and goes on with that when they are again as
        before.
        """
        told = dict(fields)
        if self.has_changed_topics:
            told.pop("user_endpoint", None)
            told.pop("active_tasks", None)
        self.has_endpoints |= told.get("user_endpoint") is not None
        return told

    def topology(self, which: int) -> Topology:
        """One subtopology, two of them, or the first once more with a later epoch; then two with a
        topic between them, one of two sources that go together, two with a later epoch, and none.
        """
        name, other = self.name, f"{self.name}-other"
        first = self.stateful(name) if self.is_stateful else stateless(name)
        match which:
            case 1 | 5:
                parts = [first, stateless(other, "1")]
            case 3:
                between = TopicInfo(name=f"{name}-between")
                first = Subtopology("0", [name], repartition_sink_topics=[between.name])
                parts = [first, Subtopology("1", repartition_source_topics=[between])]
                if self.is_stateful:
                    parts[1].state_changelog_topics = [self.store]
            case 4:
                first.source_topics.append(other)
                first.copartition_groups = [CopartitionGroup(source_topics=[0, 1])]
                parts = [first]
            case 6:
                parts = []
            case _:
                parts = [first]
        return topology(*parts, epoch=int(which in (2, 5)))

    @property
    def store(self) -> TopicInfo:
        """The topic of a state."""
        return TopicInfo(name=f"{self.name}-store")

    def stateful(self, source: str) -> Subtopology:
        return Subtopology("0", [source], state_changelog_topics=[self.store])

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
