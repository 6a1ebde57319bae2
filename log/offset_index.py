"""The offset index: the position in the segment's file at which to look for an offset.

It has one entry for about `index.interval.bytes` of log: `relative offset: int32, position: int32`.
Both are of the batch that was appended when the interval was full: its last offset, and the
position of its start. Source: Kafka's OffsetIndex.
"""

from __future__ import annotations

import struct

from kafkalite.log.index_file import IndexFile

MAX_RELATIVE_OFFSET = 2**31 - 1


class OffsetIndex(IndexFile):
    """Offsets, absolute in all methods, and positions in the segment's file."""

    layout = struct.Struct(">ii")
    offset_field = 0

    def append(self, offset: int, position: int) -> None:
        self.append_entry(offset - self.base_offset, position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry at or before `offset`, else (base offset, 0)."""
        found = self.search(min(offset - self.base_offset, MAX_RELATIVE_OFFSET))
        if found is None:
            return self.base_offset, 0
        return self.base_offset + found[0], found[1]

    def last(self) -> tuple[int, int]:
        """(offset, position) of the last entry; (base offset, 0) if there is none."""
        if not self.count:
            return self.base_offset, 0
        relative, position = self.entry(-1)
        return self.base_offset + relative, position

    def offset_behind(self, position: int) -> int | None:
        """The offset of the first entry at or after `position`; None if there is none.

        The very first entry counts only behind it (Kafka's AbstractIndex.binarySearch).
        """
        i = self.count_up_to(position - 1, field=1)
        if i == 0 and self.count and self.entry(0)[1] == position:
            i = 1
        return self.base_offset + self.entry(i)[0] if i < self.count else None
