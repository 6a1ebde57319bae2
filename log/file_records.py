"""The batches of a file, read one after the other.

Source: Kafka's FileRecords, FileLogInputStream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalite.log.open_files import LogFile
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES, MAGIC, RecordBatch

_SCAN_BYTES: Final = 1 << 20
_SEARCH_BYTES: Final = 8 << 10


def read_batches(
    file: LogFile,
    position: int,
    end: int,
    *,
    headers_only: bool = False,
    must_be_whole: bool = False,
    most_bytes: int | None = None,
) -> Iterator[tuple[int, RecordBatch]]:
    """(position, batch) from `position`, a batch's start, to `end`.

    A torn last batch is left out, or an error if all batches `must_be_whole`. With `headers_only`
    the batches' buffers may be cut short, and the rest of big ones is not read. With `most_bytes`
    so are those of larger batches.

    Raises:
        KafkaError(CORRUPT_MESSAGE): no batch begins where one must, or one is torn.
        OSError: the file cannot be read.
    """
    chunk = memoryview(b"")
    chunk_at = position
    while position + HEADER_BYTES <= end:
        i = position - chunk_at
        if i + HEADER_BYTES > len(chunk):
            chunk = _chunk(file, position, end, _SEARCH_BYTES if headers_only else _SCAN_BYTES)
            chunk_at, i = position, 0
        if len(chunk) < HEADER_BYTES:
            break
        batch = RecordBatch(chunk, i)
        size = batch.size_bytes
        if size < HEADER_BYTES or batch.magic != MAGIC:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"{file.path}: no batch begins at position {position}"
            )
        if position + size > end:
            break
        is_read = not headers_only and (most_bytes is None or size <= most_bytes)
        if is_read and len(batch.buffer) < size:
            chunk = _chunk(file, position, end, max(size, _SCAN_BYTES))
            chunk_at = position
            if len(chunk) < size:
                break
            batch = RecordBatch(chunk)
        yield position, batch
        position += size
    if must_be_whole and position < end:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{file.path}: the batch at position {position} is torn"
        )


def _chunk(file: LogFile, position: int, end: int, size: int) -> memoryview:
    return memoryview(file.pread(min(size, end - position), position))
