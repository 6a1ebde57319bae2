"""A log's segments, in the order of their base offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kafkalite.log.segment import LogSegment


class Segments:
    """A sorted table in memory: bisection finds the segment that may hold an offset."""

    def __init__(self) -> None:
        self._base_offsets: list[int] = []
        self._segments: list[LogSegment] = []

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
        else:
            self._base_offsets.insert(i, segment.base_offset)
            self._segments.insert(i, segment)

    def take_oldest(self, count: int) -> list[LogSegment]:
        """Take out so many segments, but not the active one."""
        count = min(count, len(self) - 1)
        taken = self._segments[:count]
        del self._base_offsets[:count], self._segments[:count]
        return taken

    def remove(self, segment: LogSegment) -> None:
        i = self._segments.index(segment)
        del self._base_offsets[i], self._segments[i]

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
