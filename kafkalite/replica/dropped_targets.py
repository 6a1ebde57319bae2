"""The partitions of fetch sessions that are gone: they are freed little by little.

There may be hundreds of thousands of them, which takes 30 ms. Each Fetch frees some of what those
before it have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalite.replica.fetch_target import FetchTarget, TargetKey

# It takes a tenth of a millisecond to free as many.
AT_ONCE: Final = 1024


class DroppedTargets:
    """Partitions that are left to be freed."""

    def __init__(self) -> None:
        self._left: list[dict[TargetKey, FetchTarget]] = []

    def add(self, targets: dict[TargetKey, FetchTarget]) -> None:
        """These are needed no more. The dict becomes empty in time."""
        if len(targets) > AT_ONCE:
            self._left.append(targets)

    def free_some(self) -> None:
        """Free a part of what is left, if there is any."""
        if not self._left:
            return
        targets = self._left[-1]
        for _ in range(min(len(targets), AT_ONCE)):
            targets.popitem()
        if not targets:
            self._left.pop()
