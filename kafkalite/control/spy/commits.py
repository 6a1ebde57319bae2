"""Commits of offsets, which are too many for an event each: one a second for each group."""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Final

from kafkalite.group_coordinator.happenings import Watcher

SECOND_NS: Final = 1_000_000_000


class Commits:
    """Sums commits of a second, and puts an event then. `put` takes events."""

    def __init__(self, put: Watcher, now_ns: Callable[[], int] = time_ns) -> None:
        self._put = put
        self._now_ns = now_ns
        # By group: when the sum began, the commits, and the offsets in them.
        self._sums: dict[str, list[int]] = {}

    def committed(self, group_id: str, offsets: int) -> None:
        """A group has committed so many offsets."""
        now_ns = self._now_ns()
        found = self._sums.get(group_id)
        if found is not None and now_ns - found[0] < SECOND_NS:
            found[1] += 1
            found[2] += offsets
            return
        if found is not None:
            self._tell(group_id, found)
        self._sums[group_id] = [now_ns, 1, offsets]

    def settle(self, age_ns: int = 0) -> None:
        """Put the events of the sums that began so long ago: somebody looks."""
        if not self._sums:
            return
        began_ns = self._now_ns() - age_ns
        for group_id, found in list(self._sums.items()):
            if found[0] <= began_ns:
                del self._sums[group_id]
                self._tell(group_id, found)

    def _tell(self, group_id: str, found: list[int]) -> None:
        _, commits, offsets = found
        self._put("offsets.committed", group=group_id, commits=commits, offsets=offsets)
