"""The positions of a segment's last batches, in memory.

Consumers that keep up read these batches, and need neither an index nor a look into the file.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_REMEMBERED: Final = 512


class RecentBatches:
    """Base offsets and positions of batches that follow each other without a hole."""

    __slots__ = ("_end", "_offsets", "positions")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._offsets: list[int] = []
        self.positions: list[int] = []
        self._end = -1  # the offset after the last of them

    def note(self, base_offset: int, next_offset: int, position: int) -> None:
        """Add a batch; after a hole in the offsets, those before it are forgotten."""
        offsets = self._offsets
        if base_offset != self._end and offsets:
            self.forget()
            offsets = self._offsets
        self._end = next_offset
        offsets.append(base_offset)
        self.positions.append(position)
        if len(offsets) >= 2 * _REMEMBERED:
            del offsets[:_REMEMBERED]
            del self.positions[:_REMEMBERED]

    def index_of(self, offset: int) -> int:
        """The index of the batch that holds `offset`; -1 if none certainly does."""
        # There are no holes between them: the last that begins at or before `offset` holds it.
        return bisect_right(self._offsets, offset) - 1 if offset < self._end else -1

    def position_before(self, offset: int) -> int | None:
        """The position of the last batch that begins at or before `offset`; None if none does."""
        i = bisect_right(self._offsets, offset)
        return self.positions[i - 1] if i else None

    def end_of(self, i: int, end: int) -> int:
        """The position after the i-th batch, when the file ends at `end`."""
        return end if i + 1 == len(self.positions) else self.positions[i + 1]
