"""The stored form of records in flight: ranges of offsets that stand alike.

Source: Kafka's PersisterStateBatch and PersisterStateBatchCombiner.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise, starmap
from operator import attrgetter
from typing import NamedTuple


class StateBatch(NamedTuple):
    """Offsets from first to last, both included, in one state (numbers of RecordState)."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def record_count(self) -> int:
        return self.last_offset - self.first_offset + 1

    @property
    def progress(self) -> tuple[int, int]:
        """The larger one is the later one: deliveries are counted up, and states have an order."""
        return self.delivery_count, self.delivery_state

    def between(self, first_offset: int, last_offset: int) -> StateBatch:
        return self._replace(first_offset=first_offset, last_offset=last_offset)


_first_offset = attrgetter("first_offset")
_last_offset = attrgetter("last_offset")


def combine(
    so_far: Sequence[StateBatch], new: Iterable[StateBatch], start_offset: int
) -> list[StateBatch]:
    """Both together, in order, none over another.

    Where two say something of an offset, the one with more progress counts. What is before the
    start offset is left out; -1 is no start offset. Neighbours in one state are joined as Apache
    Kafka joins them: a share partition that is opened anew delivers its batches one by one.
    """
    kept, laid = _cut(so_far, start_offset), sorted(_cut(new, start_offset))
    if not laid or any(starmap(_touch, pairwise(kept))):
        return _merged([*kept, *laid])
    # The others are as they were.
    begin = bisect_left(kept, laid[0].first_offset - 1, key=_last_offset)
    end = bisect_right(kept, max(map(_last_offset, laid)) + 1, key=_first_offset)
    return [*kept[:begin], *_merged([*kept[begin:end], *laid]), *kept[end:]]


def _cut(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """The part of each batch that is not before the start offset."""
    return [
        batch
        if batch.first_offset >= start_offset
        else batch.between(start_offset, batch.last_offset)
        for batch in batches
        if batch.last_offset >= start_offset or start_offset == -1
    ]


def _merged(batches: Iterable[StateBatch]) -> list[StateBatch]:
    """The first two that touch become pieces, again and again. A batch before them is done, even if
    one of the pieces turns out to be its neighbour in one state."""
    merged: list[StateBatch] = []
    left = sorted(batches)  # in order, thus a heap
    while left:
        last = heappop(left)
        if left and _touch(last, left[0]):
            for piece in _laid_over(last, heappop(left)):
                heappush(left, piece)
        else:
            merged.append(last)
    return merged


def _touch(last: StateBatch, batch: StateBatch) -> bool:
    """True if two batches have an offset in common, or are neighbours in one state."""
    return batch.first_offset <= last.last_offset or (
        batch.first_offset == last.last_offset + 1 and batch.progress == last.progress
    )


def _laid_over(last: StateBatch, batch: StateBatch) -> Iterator[StateBatch]:
    """The pieces of two batches that touch; `last` is the smaller one of them."""
    if batch.progress == last.progress:
        yield last.between(last.first_offset, max(last.last_offset, batch.last_offset))
        return
    if batch.progress < last.progress:
        yield last
        if batch.last_offset > last.last_offset:
            yield batch.between(last.last_offset + 1, batch.last_offset)
        return
    if last.first_offset < batch.first_offset:
        yield last.between(last.first_offset, batch.first_offset - 1)
    yield batch
    if last.last_offset > batch.last_offset:
        yield last.between(batch.last_offset + 1, last.last_offset)
