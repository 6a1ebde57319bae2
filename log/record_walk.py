"""One walk over the records of a batch, which takes records as every producer writes them.

record_reader.py reads the batches that it refuses again, field by field, and finds Kafka's error
for them. The loop costs more than the rest of an append, so it calls as little as it can. The
compiled build makes C of it, with the types that stand in record_walk.pxd. A batch of very many
records is walked over in parts, and the threads that wait for the interpreter run between two.
"""

from __future__ import annotations

from time import sleep
from typing import Final, TypeVar

from kafkalite.wire.record_format import MOST_HEADERS

_Data = TypeVar("_Data", bytes, bytearray, memoryview)

LEAST: Final = -(2**63)
MOST: Final = 2**63 - 1
# No delta that is taken: the reader looks at a batch with the least of all once more.
REFUSED: Final = LEAST

# A length or an offset in a record is an int32, a timestamp's delta an int64.
_MOST_BYTES_OF_INT32: Final = 5
_MOST_BYTES_OF_INT64: Final = 10
_SHIFT_OF_LAST_BIT: Final = 63

# The records, or headers of a record, that make a part.
_PART: Final = 65_536


def walk(
    data: bytes | bytearray | memoryview,
    start: int,
    end: int,
    count: int,
    lowest: int,
    highest: int,
    needs_keys: bool,
) -> int:
    """The largest timestamp delta of `count` records; REFUSED if anything is odd.

    They fill `data` from `start` to `end`, and are not compressed. Their timestamp deltas are
    between `lowest` and `highest`, and these between LEAST and MOST, which are 64 bits of
    record_walk.pxd.
    """
    if isinstance(data, bytes):  # a loop of C for bytes, and one for any other buffer
        fixed = data
        return _walk(fixed, start, end, count, lowest, highest, needs_keys)
    if isinstance(data, memoryview):
        viewed = data
        return _walk(viewed, start, end, count, lowest, highest, needs_keys)
    changing = data
    return _walk(changing, start, end, count, lowest, highest, needs_keys)


def _walk(
    data: _Data, start: int, limit: int, count: int, lowest: int, highest: int, needs_keys: bool
) -> int:
    position, begin = start, 0
    largest = REFUSED
    try:
        while begin < count:
            if begin:
                sleep(0)
            end_of_part = min(begin + _PART, count)
            for i in range(begin, end_of_part):
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
                    return REFUSED
                largest = max(largest, delta)

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
            begin = end_of_part
    except (IndexError, OverflowError):  # the latter where numbers have 64 bits
        return REFUSED
    return largest if position == limit else REFUSED


def _past_headers(data: _Data, position: int) -> int:
    """The position after a record's headers, which begin with their count; -1 if they are odd."""
    count, position = _varint(data, position)
    if count & 1 or count >> 1 > MOST_HEADERS:
        return -1
    for number in range(1, (count >> 1) + 1):
        size, position = _varint(data, position)
        if size & 1:  # a header has a key
            return -1
        key = bytes(data[position : position + (size >> 1)])
        position += size >> 1
        if not key.isascii() and not _is_text(key):
            return -1
        size, position = _varint(data, position)
        if not size & 1:
            position += size >> 1
        elif size != 1:
            return -1
        if not number & _PART - 1:
            sleep(0)
    return position


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _varint(data: _Data, position: int) -> tuple[int, int]:
    """A varint of an int32, still in zigzag, and the position after it."""
    value = data[position]
    if value < 128:
        return value, position + 1
    return _longer(data, position, _MOST_BYTES_OF_INT32)


def _longer(data: _Data, position: int, most_bytes: int) -> tuple[int, int]:
    """A varint of more than one byte, still in zigzag, and the position after it.

    Raises IndexError if the data ends, if the varint is longer than it need be, or if the number
    has more than 64 bits.
    """
    value = 0
    shift = 0
    for _ in range(most_bytes):
        byte, position = data[position], position + 1
        value |= (byte & 127) << shift
        if byte < 128:
            if not byte or (shift == _SHIFT_OF_LAST_BIT and byte > 1):
                break
            return value, position
        shift += 7
    raise IndexError
