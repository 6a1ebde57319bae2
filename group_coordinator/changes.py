"""The changes of one request to one group: applied at once, written in the end, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from kafkalite.group_coordinator import state_log

Change = tuple[object, object | None]
"""A record as key and value, before it is encoded; None is a tombstone."""


class ChangedGroup(Protocol):
    """A group that is what its records say."""

    def apply(self, key: object, value: object | None) -> None: ...


G = TypeVar("G", bound=ChangedGroup)


class Changes(Generic[G]):
    """`group` has all changes already. `records` has them encoded, after those it began with."""

    __slots__ = ("group", "records")

    def __init__(self, group: G, *records: state_log.StateRecord) -> None:
        self.group = group
        self.records = list(records)

    def add(self, change: Change) -> None:
        self.apply(change)
        self.records.append(state_log.encoded(*change))

    def extend(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.add(change)

    def apply(self, change: Change) -> None:
        """Let the group take in a record."""
        self.group.apply(*change)
