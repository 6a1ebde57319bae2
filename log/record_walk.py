"""One walk over the records of a batch, which takes records as every producer writes them.

record_reader.py reads the batches that it refuses again, field by field, and finds Kafka's error
for them. The loop costs more than the rest of an append, so it calls as little as it can. The
compiled build makes C of it, with the types that stand in record_walk.pxd.
"""

from __future__ import annotations

from typing import Final

REFUSED: Final = -(2**64)

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
# No delta that is taken: the reader looks at a batch with the least of all once more.
_ODD: Final = _LEAST

# A length or an offset in a record is an int32, a timestamp's delta an int64.
_MOST_BYTES_OF_INT32 = 5
_MOST_BYTES_OF_INT64 = 10


def walk(data: bytes, count: int, lowest: int, highest: int, *, needs_keys: bool) -> int:
    """The largest timestamp delta of `count` records that fill `data`; REFUSED if anything is odd.

    The records are not compressed. Their timestamp deltas are between `lowest` and `highest`.
    """
    largest = _walked(data, count, max(lowest, _LEAST), min(highest, _MOST), needs_keys)
    return REFUSED if largest == _ODD else largest


def _walked(data: bytes, count: int, lowest: int, highest: int, needs_keys: bool) -> int:
    """`walk` with 64 bits for every number: record_walk.pxd gives them C types. _ODD: refused."""
    position = 0
    largest = _ODD
    try:
        for i in range(count):
            value, position = data[position], position + 1
            if value > 127:
                second, position = data[position], position + 1
                if 0 < second < 128:
                    value = value & 127 | second << 7
                else:
                    value, position = _longer(data, position - 2, _MOST_BYTES_OF_INT32)
            if value & 1:
                return _ODD
            end = position + (value >> 1)

            if data[position]:  # attributes, of which there are none yet
                return _ODD
            value = data[position + 1]
            position += 2
            if value > 127:
                second, position = data[position], position + 1
                if 0 < second < 128:
                    value = value & 127 | second << 7
                else:
                    value, position = _longer(data, position - 2, _MOST_BYTES_OF_INT64)
            delta = (value >> 1) ^ -(value & 1)
            if delta > highest or delta < lowest:
                return _ODD
            largest = max(largest, delta)

            value, position = data[position], position + 1
            if value > 127:
                second, position = data[position], position + 1
                if 0 < second < 128:
                    value = value & 127 | second << 7
                else:
                    value, position = _longer(data, position - 2, _MOST_BYTES_OF_INT32)
            if value != i + i:
                return _ODD

            for is_needed in (needs_keys, False):  # the key, then the value
                value, position = data[position], position + 1
                if value > 127:
                    second, position = data[position], position + 1
                    if 0 < second < 128:
                        value = value & 127 | second << 7
                    else:
                        value, position = _longer(data, position - 2, _MOST_BYTES_OF_INT32)
                if not value & 1:
                    position += value >> 1
                elif value != 1 or is_needed:
                    return _ODD

            value, position = data[position], position + 1
            if value:
                position = _past_headers(data, position - 1)
            if position != end:
                return _ODD
    except (IndexError, OverflowError):  # the latter where numbers have 64 bits
        return _ODD
    return largest if position == len(data) else _ODD


def _past_headers(data: bytes, position: int) -> int:
    """The position behind a record's headers, which begin with their count; -1 if they are odd."""
    count, position = _varint(data, position)
    if count & 1:
        return -1
    for _ in range(count >> 1):
        size, position = _varint(data, position)
        if size & 1:  # a header has a key
            return -1
        key = data[position : position + (size >> 1)]
        position += size >> 1
        if not key.isascii() and not _is_text(key):
            return -1
        size, position = _varint(data, position)
        if not size & 1:
            position += size >> 1
        elif size != 1:
            return -1
    return position


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A varint of an int32, still in zigzag, and the position behind it."""
    value = data[position]
    if value < 128:
        return value, position + 1
    return _longer(data, position, _MOST_BYTES_OF_INT32)


def _longer(data: bytes, position: int, most_bytes: int) -> tuple[int, int]:
    """A varint of more than one byte, still in zigzag, and the position behind it.

    Raises IndexError if the data ends, or if the varint is longer than it need be.
    """
    value = 0
    shift = 0
    for _ in range(most_bytes):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if not byte:
                break
            return value, position
        shift += 7
    raise IndexError
