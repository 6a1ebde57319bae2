"""The headers of many record batches at once, as one numpy table.

From batch to batch Python must go step by step, for each tells where the next one begins; but it
looks at the length only (and at the checksum, if asked). The fields are gathered afterwards, all at
once.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from crc32c import crc32c

from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_FLAG,
    CRC_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
)

Buffer = bytes | bytearray | memoryview

# The same fields as `HEADER` in kafkalite.wire.record_batch.
HEADER_DTYPE = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("partition_leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")


class BatchHeaders(NamedTuple):
    """`fields` has a row of HEADER_DTYPE for each whole batch; positions are those in the
    buffer."""

    fields: np.ndarray
    positions: np.ndarray
    end: int  # where the walk stopped: the buffer's end, or a batch cut short, or no batch
    damage: str | None  # why it stopped before the buffer's end, if not for want of bytes
    crc_ok: np.ndarray | None  # for each batch, if asked

    @property
    def base_offsets(self) -> np.ndarray:
        return self.fields["base_offset"].astype(np.int64)

    @property
    def last_offsets(self) -> np.ndarray:
        return self.base_offsets + self.fields["last_offset_delta"]

    @property
    def is_control(self) -> np.ndarray:
        return (self.fields["attributes"] & CONTROL_FLAG) != 0

    @property
    def is_transactional(self) -> np.ndarray:
        return (self.fields["attributes"] & TRANSACTIONAL_FLAG) != 0

    def select(self, which: np.ndarray) -> BatchHeaders:
        """The headers that an index array, a mask or a slice picks."""
        crc_ok = None if self.crc_ok is None else self.crc_ok[which]
        return self._replace(
            fields=self.fields[which], positions=self.positions[which], crc_ok=crc_ok
        )


def walk(buffer: Buffer, position: int = 0, *, check_crc: bool = False) -> BatchHeaders:
    """The whole batches of `buffer` from `position` on.

    Stops at the first that is cut short, has an impossible length or magic, and, with `check_crc`,
    at none: the wrong checksums are told in `crc_ok`.
    """
    view = memoryview(buffer)
    end = len(view)
    last_start = end - HEADER_BYTES
    positions: list[int] = []
    append = positions.append
    length_at = _LENGTH.unpack_from
    damage: str | None = None
    smallest = HEADER_BYTES - LOG_OVERHEAD
    while position <= last_start:
        (length,) = length_at(view, position + 8)
        following = position + LOG_OVERHEAD + length
        if length < smallest:
            damage = f"a batch length of {length}"
            break
        if view[position + MAGIC_POSITION] != MAGIC:
            damage = f"magic {view[position + MAGIC_POSITION]}, not 2"
            break
        if following > end:
            break
        append(position)
        position = following
    starts = np.array(positions, np.int64)
    crc_ok = _check(view, positions, position) if check_crc else None
    return BatchHeaders(gather(view, starts), starts, position, damage, crc_ok)


def gather(view: memoryview, starts: np.ndarray) -> np.ndarray:
    """The header fields of the batches that begin at `starts`."""
    if not len(starts):
        return np.empty(0, HEADER_DTYPE)
    data = np.frombuffer(view, np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, HEADER_BYTES)
    return np.ascontiguousarray(windows[starts]).view(HEADER_DTYPE)[:, 0]


def _check(view: memoryview, positions: list[int], end: int) -> np.ndarray:
    ends = [*positions[1:], end] if positions else []
    crc_at = _CRC.unpack_from
    return np.array(
        [
            crc_at(view, start + CRC_POSITION)[0]
            == crc32c(view[start + ATTRIBUTES_POSITION : stop])
            for start, stop in zip(positions, ends, strict=True)
        ],
        bool,
    )
