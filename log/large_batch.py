"""A large batch is written in pieces, the last of which appends it.

To write 90 MB takes 25 ms, for which others would wait. So all pieces but the last are written
first, beyond the log's end, and others have their turn between two of them. If they append to the
same log, the writing begins anew after that. Until it is appended the batch is torn: recovery cuts
it off, and no reader takes it for whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from kafkalite.log import rolling
from kafkalite.log.accepted_batch import PIECE_BYTES, AcceptedBatch
from kafkalite.log.log import Log, pack_head
from kafkalite.wire.record_batch import LOG_OVERHEAD, MAGIC

# For each piece. Where others append all the time, the batch is written by its own append.
_MOST_STEPS: Final = 8


def append_large(log: Log, batch: AcceptedBatch, append: Callable[[], object]) -> Generator[None]:
    """Write pieces of a batch, one in each step, and call `append`, which may refuse it."""
    if batch.size_bytes <= PIECE_BYTES:
        append()
        return
    try:
        yield from _writing(log, batch)
        append()
    finally:
        if log.offline_reason is None:
            log.segments.active.forget_ahead(batch.under_crc)


def _writing(log: Log, batch: AcceptedBatch) -> Generator[None]:
    """Write all but the last piece. A failing disk ends it: the append will say what is wrong."""
    head = pack_head(0, batch.size_bytes - LOG_OVERHEAD, -1, MAGIC, batch.crc)
    for _ in range(_MOST_STEPS * (1 + batch.size_bytes // PIECE_BYTES)):
        if log.offline_reason is not None:
            return
        last_offset = log.log_end_offset + batch.last_offset_delta
        try:
            segment = rolling.segment_for(log, batch, last_offset, log.now_ms())
            if segment.write_ahead(head, batch.under_crc, PIECE_BYTES):
                return
        except OSError:
            return
        yield
