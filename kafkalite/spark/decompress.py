"""Batches' records, plain: decompressed beside one another into one buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import cramjam
import numpy as np

from kafkalite.spark.batch_headers import BatchHeaders, Buffer
from kafkalite.spark.decode import Unfolded
from kafkalite.spark.vectorized_records import CorruptRecords
from kafkalite.wire.compression import Compression, DecompressionError, decompress
from kafkalite.wire.record_batch import COMPRESSION_MASK, HEADER_BYTES, LOG_OVERHEAD

# Arrow's 32-bit offsets limit one batch; a chunk is much less.
_CHUNK_BYTES = 8 << 20
_LARGEST_BATCH_BYTES = (1 << 31) - (1 << 20)
_KNOWN_CODECS = max(Compression)
_DECOMPRESS_INTO: Final[dict[int, Callable[[memoryview, memoryview], int]]] = {
    Compression.LZ4: cramjam.lz4.decompress_into,
    Compression.ZSTD: cramjam.zstd.decompress_into,
}


def unfold(buffer: Buffer, headers: BatchHeaders) -> Iterator[Unfolded]:
    """The data batches of `buffer` with their records plain, in chunks of some 8 MiB; the next is
    made in the same memory.

    Control batches and those without records are left out. Plain batches are not copied.

    Raises CorruptRecords.
    """
    headers = headers.select((headers.fields["record_count"] > 0) & ~headers.is_control)
    if not len(headers.positions):
        return
    codecs = headers.fields["attributes"] & COMPRESSION_MASK
    if codecs.max() > _KNOWN_CODECS:
        raise CorruptRecords(f"compression type {codecs.max()} is unknown")
    starts = headers.positions + HEADER_BYTES
    ends = headers.positions + LOG_OVERHEAD + headers.fields["batch_length"]
    if not codecs.any():
        yield Unfolded(np.frombuffer(buffer, np.uint8), starts, ends, headers.fields)
        return
    yield from _decompressed(memoryview(buffer), headers, codecs, starts, ends)


def _decompressed(
    view: memoryview,
    headers: BatchHeaders,
    codecs: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> Iterator[Unfolded]:
    output = _Output()
    plain_starts: list[int] = []
    plain_ends: list[int] = []
    first = 0
    for i, (codec, start, end) in enumerate(
        zip(codecs.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ):
        plain_starts.append(output.size)
        output.add(codec, view[start:end])
        plain_ends.append(output.size)
        if output.size >= _CHUNK_BYTES or i == len(codecs) - 1:
            yield Unfolded(
                output.take(),
                np.array(plain_starts, np.int64),
                np.array(plain_ends, np.int64),
                headers.fields[first : i + 1],
            )
            first = i + 1
            plain_starts, plain_ends = [], []


class _Output:
    """A buffer that codecs write into, one batch behind the other."""

    def __init__(self) -> None:
        self.size = 0
        self._data = np.zeros(_CHUNK_BYTES + (4 << 20), np.uint8)

    def add(self, codec: int, data: memoryview) -> None:
        """Raises CorruptRecords."""
        decompress_into = _DECOMPRESS_INTO.get(codec)
        if decompress_into is None:
            self._append(_decompress(codec, data))
            return
        room = memoryview(self._data)[self.size :]
        try:
            self.size += decompress_into(data, room)
        except (cramjam.DecompressionError, OSError):
            # Neither frame need tell its size: when it does not fit, it is tried with room for
            # more.
            self._append(_decompress(codec, data))

    def _append(self, plain: bytes) -> None:
        end = self.size + len(plain)
        if end > len(self._data):
            larger = np.zeros(end, np.uint8)
            larger[: self.size] = self._data[: self.size]
            self._data = larger
        self._data[self.size : end] = np.frombuffer(plain, np.uint8)
        self.size = end

    def take(self) -> np.ndarray:
        """The bytes that were written. The next ones go to the same place."""
        data = self._data[: self.size]
        self.size = 0
        return data


def _decompress(codec: int, data: memoryview) -> bytes:
    try:
        return decompress(Compression(codec), data, _LARGEST_BATCH_BYTES)
    except DecompressionError as error:
        raise CorruptRecords(str(error)) from error
