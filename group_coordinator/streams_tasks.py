"""Tasks of a Kafka Streams application: a subtopology and a partition (KIP-1071).

A member has active tasks, which process, standby tasks, which keep a copy of the state, and warm-up
tasks, which prepare one. Values: what changes tasks makes others. Source: Kafka's TasksTuple,
TasksTupleWithEpochs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Protocol, TypeVar

L_co = TypeVar("L_co", covariant=True)


TaskId = tuple[str, int]
"""One task: its subtopology and its partition.

A plain tuple: a group may have ten thousand tasks, of which each assignment makes several times as
many ids. C makes those at once, and the garbage collector does not go through them."""


Partitions = Mapping[str, frozenset[int]]
"""Tasks by subtopology; none is empty."""

PartitionsWithEpochs = Mapping[str, Mapping[int, int]]
"""By subtopology and partition, the group epoch in which the task was given."""


class ListedTasks(Protocol):
    """Tasks of one subtopology, as messages have them."""

    @property
    def subtopology_id(self) -> str: ...
    @property
    def partitions(self) -> list[int]: ...


class SaidTasks(Protocol):
    """The tasks that a heartbeat names as the member's own; None where it names none."""

    @property
    def active_tasks(self) -> Sequence[ListedTasks] | None: ...
    @property
    def standby_tasks(self) -> Sequence[ListedTasks] | None: ...
    @property
    def warmup_tasks(self) -> Sequence[ListedTasks] | None: ...


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks that a member is to have, or says that it has."""

    active: Partitions = field(default_factory=dict[str, frozenset[int]])
    standby: Partitions = field(default_factory=dict[str, frozenset[int]])
    warmup: Partitions = field(default_factory=dict[str, frozenset[int]])

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)


@dataclass(frozen=True, slots=True)
class AssignedTasks:
    """The tasks of a member."""

    active: PartitionsWithEpochs = field(default_factory=dict[str, Mapping[int, int]])
    standby: Partitions = field(default_factory=dict[str, frozenset[int]])
    warmup: Partitions = field(default_factory=dict[str, frozenset[int]])

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def merged(self, other: AssignedTasks) -> AssignedTasks:
        """Both together."""
        active = {subtopology: dict(epochs) for subtopology, epochs in self.active.items()}
        for subtopology, epochs in other.active.items():
            active.setdefault(subtopology, {}).update(epochs)
        return AssignedTasks(
            active, _both(self.standby, other.standby), _both(self.warmup, other.warmup)
        )

    def shares_any(self, said: Tasks) -> bool:
        """True if `said` names any of these tasks."""
        return (
            any(not said.active.get(s, frozenset()).isdisjoint(p) for s, p in self.active.items())
            or any(
                not said.standby.get(s, frozenset()).isdisjoint(p) for s, p in self.standby.items()
            )
            or any(
                not said.warmup.get(s, frozenset()).isdisjoint(p) for s, p in self.warmup.items()
            )
        )

    def contains(self, said: SaidTasks) -> bool:
        """True if `said` names all three kinds of tasks, and nothing that is not among these: no
        subtopology either, of which it names no task."""
        return (
            _all_are_in(said.active_tasks, self.active)
            and _all_are_in(said.standby_tasks, self.standby)
            and _all_are_in(said.warmup_tasks, self.warmup)
        )


def _all_are_in(said: Iterable[ListedTasks] | None, tasks: Mapping[str, Collection[int]]) -> bool:
    return said is not None and all(
        each.subtopology_id in tasks
        and all(index in tasks[each.subtopology_id] for index in each.partitions)
        for each in said
    )


def _both(left: Partitions, right: Partitions) -> dict[str, frozenset[int]]:
    return {
        subtopology: left.get(subtopology, frozenset()) | right.get(subtopology, frozenset())
        for subtopology in {**left, **right}
    }


def partitions_of(listed: Iterable[ListedTasks] | None) -> dict[str, frozenset[int]]:
    """Tasks from a message."""
    found: dict[str, frozenset[int]] = {}
    for tasks in listed or ():
        if tasks.partitions:
            found[tasks.subtopology_id] = frozenset(tasks.partitions)
    return found


class MakesTasks(Protocol[L_co]):
    """A class of messages: tasks of one subtopology."""

    def __call__(self, *, subtopology_id: str, partitions: list[int]) -> L_co: ...


def listed(made: MakesTasks[L_co], tasks: Mapping[str, Iterable[int]]) -> list[L_co]:
    """Tasks by subtopology, as a list of messages in order."""
    return [made(subtopology_id=name, partitions=sorted(tasks[name])) for name in sorted(tasks)]


def task_ids(partitions: Mapping[str, Iterable[int]]) -> Iterator[TaskId]:
    """The tasks of these subtopologies and partitions."""
    return chain.from_iterable(
        zip(repeat(subtopology_id), of_subtopology)
        for subtopology_id, of_subtopology in partitions.items()
    )
