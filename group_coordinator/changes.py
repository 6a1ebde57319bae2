"""The changes of one request to one group: applied at once, written in the end, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from kafkalite.group_coordinator import state_log

Change = tuple[object, object | None]
"""A record as key and value, before it is encoded; None is a tombstone."""


class ChangedGroup(Protocol):
    """A group whose state is the sum of its records."""

    group_id: str

    def apply(self, key: object, value: object | None, now_ms: int = 0) -> None: ...


G = TypeVar("G", bound=ChangedGroup)


class Changes(Generic[G]):
    """A change is applied to `group` at once, and its record is added to `records`.

    `records` may begin with others, which replace an older group. `now_ms` is the time of the
    request on the wall clock.
    """

    __slots__ = ("_now_ms", "group", "records")

    def __init__(self, group: G, *records: state_log.StateRecord, now_ms: int = 0) -> None:
        self.group = group
        self.records = list(records)
        self._now_ms = now_ms

    def add(self, change: Change) -> None:
        self.group.apply(*change, self._now_ms)
        self.records.append(state_log.encoded(*change))

    def extend(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.add(change)

    def save(self, save: Callable[[str, Sequence[state_log.StateRecord]], None]) -> None:
        """Write the records, if there are any. Raises KafkaError as `save`."""
        if self.records:
            save(self.group.group_id, self.records)
