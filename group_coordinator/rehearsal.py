"""A change of a large group, worked out by a thread on a copy of the group.

A group of 10,000 partitions takes a third of a second to be assigned anew. The loop copies the
group, which takes a millisecond, a thread applies all changes to the copy, and the loop takes over
what came out. If the group has changed meanwhile, the outcome counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.wire.errors import KafkaError

G = TypeVar("G", bound=ModernGroup[Any, Any])
D = TypeVar("D")


class Rehearsal(Generic[G, D]):
    """One change. `decide(changes)` makes it: it changes nothing but the group of `changes`."""

    def __init__(self, group: G, now_ms: int, decide: Callable[[Changes[G]], D]) -> None:
        self._group = group
        self._version = group.version
        self._decide = decide
        self._changes = Changes(group.copy(), now_ms=now_ms)
        self._decided: list[D] = []
        self._refused: KafkaError | None = None

    def run(self) -> None:
        """Work it out, in a thread."""
        try:
            self._decided.append(self._decide(self._changes))
        except KafkaError as refused:
            self._refused = refused

    @property
    def is_current(self) -> bool:
        """True if the group is as it was."""
        return self._group.version == self._version

    def taken_over(self) -> tuple[Changes[G], D]:
        """The changes, which are now those of the group and not yet written, and the decision.

        Raises KafkaError: the change was refused.
        """
        if self._refused is not None:
            raise self._refused
        (decision,) = self._decided
        self._group.take_over(self._changes.group)
        self._changes.group = self._group
        return self._changes, decision
