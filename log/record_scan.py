"""One pass over the records of a stored batch: their keys, and where they and their values are.

The cleaner decides by offset, key, and if there is a value, and copies what stays; the replay of a
log needs the last value of a key. So values and headers are not looked at, and no object
is made of them. The compiled build makes C of this module, with the types that stand in
record_scan.pxd.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from kafkalite.wire.record_batch import RecordBatch
from kafkalite.wire.record_format import invalid_record

# A part is gone through in less than a millisecond.
RECORDS_OF_A_PART: Final = 256
_MOST_SHIFT: Final = 63

ScannedRecord: TypeAlias = tuple[int, int, bytes | None, int, int, int, int]
"""Offset delta, timestamp delta, key; positions in the decompressed records: the value's first (-1:
null) and the one after it, the record's first and the one after it."""


def scanned(batch: RecordBatch, data: bytes) -> Iterator[list[ScannedRecord]]:
    """The records of a batch, a part at a time; `data` are its records, decompressed.

    Raises KafkaError(INVALID_RECORD): a record's bytes do not add up, or there are more or fewer
    records than the header says.
    """
    position, left = 0, batch.record_count
    while left > 0:
        records: list[ScannedRecord] = []
        try:
            position = scan(data, position, min(left, RECORDS_OF_A_PART), records)
        except IndexError:
            raise invalid_record("Incorrect declared batch size, premature EOF reached") from None
        left -= len(records)
        yield records
    if position != len(data):
        raise invalid_record("Incorrect declared batch size, records still remaining in file")


def scan(data: bytes, position: int, count: int, records: list[ScannedRecord]) -> int:
    """Add `count` records from `position` on to `records`; returns the position after them.

    Raises IndexError where the data end, KafkaError(INVALID_RECORD).
    """
    limit = len(data)
    for _ in range(count):
        begin = position
        size, position = _varint(data, position)
        if not 0 <= size <= limit - position:
            raise invalid_record(f"Invalid record size: expected {size} more bytes")
        end = position + size
        position += 1  # the record's attributes: unused
        timestamp_delta, position = _varint(data, position)
        offset_delta, position = _varint(data, position)
        key = None
        size, position = _varint(data, position)
        if size >= 0:
            if size > end - position:
                raise _too_long(size, end - position)
            key = data[position : position + size]
            position += size
        size, position = _varint(data, position)
        if max(size, 0) >= end - position:  # the count of headers comes after it
            raise _too_long(size, end - position)
        value = position if size >= 0 else -1
        value_end = position + size if size >= 0 else -1
        records.append((offset_delta, timestamp_delta, key, value, value_end, begin, end))
        position = end
    return position


def _too_long(size: int, left: int) -> Exception:
    return invalid_record(f"Found {size} bytes of key or value where {left} are left")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 10 bytes, and the position after it."""
    byte = data[position]
    value = byte & 127
    shift = 7
    while byte > 127:
        position += 1
        byte = data[position]
        value |= (byte & 127) << shift
        if byte > 127 and shift == _MOST_SHIFT:
            raise invalid_record(
                "Varint is too long, the most significant bit in the 10th byte is set"
            )
        shift += 7
    return (value >> 1) ^ -(value & 1), position + 1
