"""One walk over the records of a batch, which takes records as every producer writes them.

record_reader.py reads the batches that it refuses again, field by field, and finds Kafka's error
for them. The loop costs more than the rest of an append, so it calls as little as it can.
"""

from __future__ import annotations

from typing import Final

REFUSED: Final = -(2**64)

# A length or an offset in a record is an int32, a timestamp's delta an int64.
_MOST_BYTES_OF_INT32 = 5
_MOST_BYTES_OF_INT64 = 10


def walk(data: bytes, count: int, lowest: int, highest: int, *, needs_keys: bool) -> int:
    """The largest timestamp delta of `count` records that fill `data`; REFUSED if anything is odd.

    The records are not compressed. Their timestamp deltas are between `lowest` and `highest`.
    """
    position = 0
    largest = REFUSED
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
                return REFUSED
            end = position + (value >> 1)

            if data[position]:  # attributes, of which there are none yet
                return REFUSED
            delta = data[position + 1]
            position += 2
            if delta:
                if delta > 127:
                    second, position = data[position], position + 1
                    if 0 < second < 128:
                        delta = delta & 127 | second << 7
                    else:
                        delta, position = _longer(data, position - 2, _MOST_BYTES_OF_INT64)
                delta = (delta >> 1) ^ -(delta & 1)
            largest = max(largest, delta)
            if delta > highest or delta < lowest:
                return REFUSED

            value, position = data[position], position + 1
            if value > 127:
                second, position = data[position], position + 1
                if 0 < second < 128:
                    value = value & 127 | second << 7
                else:
                    value, position = _longer(data, position - 2, _MOST_BYTES_OF_INT32)
            if value != i + i:
                return REFUSED

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
                    return REFUSED

            value, position = data[position], position + 1
            if value:
                position = _past_headers(data, position - 1)
            if position != end:
                return REFUSED
    except IndexError:
        return REFUSED
    return largest if position == len(data) else REFUSED


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
