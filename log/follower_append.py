"""A follower appends in pieces, between which others have their turn.

Its leader may answer with as much as `replica.fetch.max.bytes` allows, or with one large batch. The
copy of a log that moves to another directory grows in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Final

from kafkalite.log.accepted_batch import PIECE_BYTES, as_accepted
from kafkalite.log.large_batch import append_large
from kafkalite.log.log import Log
from kafkalite.wire.record_batch import RecordBatch, iterate_batches

# Smallest batches: to append so many takes 2 to 3 ms.
_MOST_BATCHES: Final = 1000


def appending_as_follower(
    log: Log, records: bytes | bytearray | memoryview, leader_epoch: int
) -> Generator[Callable[[], None] | None]:
    """`Log.append_as_follower` in steps: after each of them, whole batches are in the log.

    Batches after this leader epoch are left out: where that leader's log begins is not known here
    yet (KAFKA-18723). A thread may do what a step yields. Close it if the log is not to be appended
    to any more, or if others appended to it. Raises KafkaError, as `append_as_follower`.
    """
    for piece in _pieces(memoryview(records), leader_epoch):
        if len(piece) <= PIECE_BYTES:
            log.append_as_follower(piece)
        else:
            yield from _appending_large(log, piece)
        yield None


def _appending_large(log: Log, piece: memoryview) -> Generator[Callable[[], None] | None]:
    batch = RecordBatch(piece)
    valid: list[bool] = []
    yield lambda: valid.append(batch.is_valid())
    if valid != [True]:
        batch.ensure_valid()
    checked = as_accepted(batch)
    yield from append_large(log, checked, partial(log.append_as_follower, piece, checked))


def _pieces(records: memoryview, leader_epoch: int) -> Iterator[memoryview]:
    """A few batches that are no longer than a piece together, or one that is longer."""
    start = end = count = 0
    for batch in iterate_batches(records):
        if batch.partition_leader_epoch > leader_epoch:
            break
        size = batch.size_bytes
        if count and (end + size - start > PIECE_BYTES or count == _MOST_BATCHES):
            yield records[start:end]
            start, count = end, 0
        end += size
        count += 1
    if count:
        yield records[start:end]
