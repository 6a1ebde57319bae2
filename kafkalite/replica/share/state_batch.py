"""The stored form of records in flight: ranges of offsets that stand alike.

Source: Kafka's PersisterStateBatch and PersisterStateBatchCombiner.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
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


def combine(
    so_far: Sequence[StateBatch], new: Iterable[StateBatch], start_offset: int
) -> list[StateBatch]:
    """Both together, in order, none over another, neighbours in one state joined.

    Where two say something of an offset, the one with more progress counts. What is before the
    start offset is left out; -1 is no start offset.
    """
    combined = list(so_far)
    for batch in new:
        _lay_over(combined, batch)
    if start_offset == -1:
        return combined
    kept = combined[bisect_left(combined, start_offset, key=lambda batch: batch.last_offset) :]
    if kept and kept[0].first_offset < start_offset:
        kept[0] = kept[0].between(start_offset, kept[0].last_offset)
    return kept


def _lay_over(combined: list[StateBatch], new: StateBatch) -> None:
    """Change the part of `combined` that `new` touches."""
    if not combined or combined[-1].last_offset < new.first_offset:
        # In order, as nearly all are.
        combined[-1:] = _joined([*combined[-1:], new])
        return
    # With the neighbours, which may turn out to stand alike.
    start = bisect_left(combined, new.first_offset - 1, key=lambda batch: batch.last_offset)
    end = bisect_right(combined, new.last_offset + 1, key=lambda batch: batch.first_offset)
    pieces: list[StateBatch] = []
    position = new.first_offset
    for old in combined[start:end]:
        if old.first_offset > position and position <= new.last_offset:
            pieces.append(new.between(position, min(old.first_offset - 1, new.last_offset)))
        if old.first_offset < new.first_offset:
            pieces.append(old.between(old.first_offset, min(old.last_offset, position - 1)))
        first = max(old.first_offset, new.first_offset)
        last = min(old.last_offset, new.last_offset)
        if first <= last:
            pieces.append(max(old, new, key=lambda batch: batch.progress).between(first, last))
        if old.last_offset > new.last_offset:
            first = max(old.first_offset, new.last_offset + 1)
            pieces.append(old.between(first, old.last_offset))
        position = max(position, old.last_offset + 1)
    if position <= new.last_offset:
        pieces.append(new.between(position, new.last_offset))
    combined[start:end] = _joined(pieces)


def _joined(pieces: Iterable[StateBatch]) -> list[StateBatch]:
    joined: list[StateBatch] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.last_offset + 1 == piece.first_offset
            and last.progress == piece.progress
        ):
            joined[-1] = last.between(last.first_offset, piece.last_offset)
        else:
            joined.append(piece)
    return joined
