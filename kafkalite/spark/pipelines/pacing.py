"""Pacing: batches sent when their timestamps say, all partitions side by side."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalite.spark.pipelines.delivery import Delivery
from kafkalite.spark.pipelines.pieces import Piece
from kafkalite.wire.record_batch import RecordBatch

# Records whose turns are no further apart are sent together.
_WINDOW_MS: Final = 50


def pace_windows(timestamps: Any, speed: float | None) -> Iterator[tuple[int, int]]:
    """(start, end) of the rows that are sent together; all of them without a speed.

    A timestamp that goes back does not change the order of the records: it is sent with the one
    before.
    """
    count = len(timestamps)
    if speed is None:
        yield 0, count
        return
    windows = np.maximum.accumulate(timestamps) // max(1, int(_WINDOW_MS * speed))
    starts = [0, *(np.flatnonzero(np.diff(windows)) + 1).tolist()]
    yield from zip(starts, [*starts[1:], count], strict=True)


class Pace:
    """Delivers pieces at `speed` times the pace at which their records came about."""

    def __init__(
        self,
        speed: float,
        bar: Any,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed = speed
        self._bar = bar
        self._now = now
        self._sleep = sleep

    def deliver(self, delivery: Delivery, pieces: Sequence[Piece]) -> None:
        """All batches, in the order of their (largest) timestamps; each no sooner than it is
        due."""
        by_partition: dict[int, list[Piece]] = {}
        for piece in pieces:
            by_partition.setdefault(piece.partition, []).append(piece)
        # In a partition the order stays, whatever the timestamps say.
        streams = [_turns(own) for own in by_partition.values()]
        began: float | None = None
        first_ms = 0
        for turn in heapq.merge(*streams, key=lambda turn: turn.due_ms):
            if began is None:
                began, first_ms = self._now(), turn.due_ms
            if turn.is_first:
                delivery.begin(turn.piece)
            partition, batch = turn.piece.partition, turn.batch
            wait = began + (turn.due_ms - first_ms) / 1000 / self._speed - self._now()
            if wait > 0 and not delivery.is_there(partition, batch.record_count):
                self._sleep(wait)
            delivery.append(partition, bytearray(batch.buffer), batch.record_count)
            self._bar.update(batch.record_count)
            if turn.is_last:
                delivery.end(turn.piece)
                turn.piece.remove()


class _Turn(NamedTuple):
    """A batch, and when it is due by its first record's timestamp."""

    due_ms: int
    batch: RecordBatch
    piece: Piece
    is_first: bool
    is_last: bool


def _turns(pieces: Sequence[Piece]) -> Iterator[_Turn]:
    """The batches of one partition. One whose timestamp goes back is due with the one before."""
    due_ms = -(2**63)
    for piece in pieces:
        batches = list(piece.batches())
        for i, batch in enumerate(batches):
            due_ms = max(due_ms, batch.base_timestamp)
            yield _Turn(due_ms, batch, piece, i == 0, i == len(batches) - 1)
