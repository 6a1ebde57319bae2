"""A log's segments, in the order of their base offsets.

There may be ten thousand of them. So those with aborted transactions, which each READ_COMMITTED
fetch asks for and are few, have a table of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kafkalite.log.segment import LogSegment


class Segments:
    """A sorted table in memory: bisection finds the segment that may hold an offset."""

    def __init__(self) -> None:
        self._base_offsets: list[int] = []
        self._segments: list[LogSegment] = []
        # Base offsets of the segments with aborted transactions; the active one may come to have
        # some at any time.
        self._aborting: list[int] = []
        # Counts up when segments are taken out or replaced: their files may be gone then.
        self.removed_count = 0

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(list(self._segments))

    @property
    def first(self) -> LogSegment:
        return self._segments[0]

    @property
    def active(self) -> LogSegment:
        """The last segment, the one that is appended to."""
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        return list(self._base_offsets)

    def add(self, segment: LogSegment) -> None:
        """Add a segment, in place of one with the same base offset."""
        i = bisect_left(self._base_offsets, segment.base_offset)
        if i < len(self._base_offsets) and self._base_offsets[i] == segment.base_offset:
            self._segments[i] = segment
            self.removed_count += 1
        else:
            self._base_offsets.insert(i, segment.base_offset)
            self._segments.insert(i, segment)
        if segment is not self.active:
            self.note_aborts(segment)
        elif i:
            self.note_aborts(self._segments[i - 1])

    def note_aborts(self, segment: LogSegment) -> None:
        """Take note that a segment is inactive, or that its transaction index was made again."""
        i = bisect_left(self._aborting, segment.base_offset)
        is_noted = i < len(self._aborting) and self._aborting[i] == segment.base_offset
        if segment.transaction_index.count and not is_noted:
            self._aborting.insert(i, segment.base_offset)

    def take_oldest(self, count: int) -> list[LogSegment]:
        """Take out so many segments, but not the active one."""
        count = min(count, len(self) - 1)
        self.removed_count += count > 0
        taken = self._segments[:count]
        del self._base_offsets[:count], self._segments[:count]
        del self._aborting[: bisect_left(self._aborting, self._base_offsets[0])]
        return taken

    def remove(self, segment: LogSegment) -> None:
        i = bisect_left(self._base_offsets, segment.base_offset)
        assert self._segments[i] is segment
        self.removed_count += 1
        del self._base_offsets[i], self._segments[i]
        i = bisect_left(self._aborting, segment.base_offset)
        if i < len(self._aborting) and self._aborting[i] == segment.base_offset:
            del self._aborting[i]

    def floor(self, offset: int) -> LogSegment | None:
        """The last segment that begins at or before `offset`."""
        i = bisect_right(self._base_offsets, offset)
        return self._segments[i - 1] if i else None

    def after(self, segment: LogSegment) -> LogSegment | None:
        """The next segment."""
        i = bisect_right(self._base_offsets, segment.base_offset)
        return self._segments[i] if i < len(self._segments) else None

    def since(self, offset: int) -> list[LogSegment]:
        """The segment that may hold `offset`, and all after it."""
        i = bisect_right(self._base_offsets, offset)
        return self._segments[max(i - 1, 0) :]

    def aborting_since(self, offset: int) -> Iterator[LogSegment]:
        """The segments of `since` that may have aborted transactions."""
        first = bisect_right(self._base_offsets, offset) - 1
        begin = bisect_left(self._aborting, self._base_offsets[max(first, 0)])
        active = self.active
        for base_offset in self._aborting[begin:]:
            if base_offset != active.base_offset:
                yield self._segments[bisect_left(self._base_offsets, base_offset)]
        yield active
