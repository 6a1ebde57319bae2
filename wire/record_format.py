"""One record inside a batch of format v2, read and written.

All numbers are zigzag varints of at most 10 bytes, and -1 as a length says null::

    length   attributes   timestamp   offset   key      key   value    value   header   headers
             (1 byte)     delta       delta    length         length           count

A header is the length of its key, the key (UTF-8), the length of its value, and the value. Source:
Kafka's DefaultRecord and ByteUtils.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import sleep
from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError

# A record is at least: length, attributes, timestamp delta, offset delta, key length, value length
# and header count, one byte each.
MIN_RECORD_BYTES: Final = 7
# Apache Kafka's only limit here is its memory: a header of two bytes is an object of ninety.
MOST_HEADERS: Final = 1 << 20
# After so much a reader lets other threads have the interpreter: compiled code holds on to it.
BYTES_OF_A_PART: Final = 1 << 15
_HEADERS_OF_A_PART: Final = 1 << 13

Header = tuple[str, bytes | None]
Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""


def invalid_record(message: str) -> KafkaError:
    """A record, or a batch of them, that is not sound."""
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def read_record(
    data: bytes, position: int
) -> tuple[int, int, bytes | None, bytes | None, Sequence[Header], int]:
    """One record at `position`; IndexError when the bytes end first."""
    length, position = read_varint(data, position)
    end = position + length
    if length < 0 or end > len(data):
        raise invalid_record(f"Invalid record size: expected {length} more bytes")
    position += 1  # the record's attributes: unused
    timestamp_delta, position = read_varint(data, position)
    offset_delta, position = read_varint(data, position)
    key, position = _read_bytes(data, position, end)
    value, position = _read_bytes(data, position, end)
    header_count, position = read_varint(data, position)
    headers: Sequence[Header] = ()
    if header_count:
        headers, position = _read_headers(data, position, end, header_count)
    if position != end:
        raise invalid_record(
            f"Invalid record size: expected to read {length} bytes in record payload"
        )
    return timestamp_delta, offset_delta, key, value, headers, position


def _read_headers(
    data: bytes, position: int, end: int, count: int
) -> tuple[tuple[Header, ...], int]:
    if count < 0 or count > end - position:
        raise invalid_record(f"Found invalid number of record headers {count}")
    headers: list[Header] = []
    for number in range(1, count + 1):
        if not number % _HEADERS_OF_A_PART:
            sleep(0)
        key, position = _read_bytes(data, position, end)
        if key is None:
            raise invalid_record("Invalid negative header key size -1")
        value, position = _read_bytes(data, position, end)
        # Kafka's String(bytes, UTF_8) replaces what is no UTF-8, and so do we: it is not our data.
        headers.append((key.decode("utf-8", "replace"), value))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    stop = position + size
    if stop > end:
        raise invalid_record(
            f"Found {size} bytes of key, value or header where {end - position} are left"
        )
    return data[position:stop], stop


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 10 bytes; (value, position after). IndexError at the end."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    result = byte & 0x7F
    shift = 7
    while True:
        position += 1
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position + 1
        shift += 7
        if shift > 63:
            raise invalid_record(
                "Varint is too long, the most significant bit in the 10th byte is set"
            )


def write_varint(output: bytearray, value: int) -> None:
    """Append `value` as a zigzag varint."""
    value = (value << 1) ^ (value >> 63)
    while value >= 0x80:
        output.append((value & 0x7F) | 0x80)
        value >>= 7
    output.append(value)


def write_record(
    output: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
) -> None:
    """Append one record."""
    body = bytearray(1)  # attributes
    write_varint(body, timestamp_delta)
    write_varint(body, offset_delta)
    _write_bytes(body, key)
    _write_bytes(body, value)
    write_varint(body, len(headers))
    for name, data in headers:
        _write_bytes(body, name.encode())
        _write_bytes(body, data)
    _write_bytes(output, body)


def _write_bytes(output: bytearray, data: bytes | bytearray | None) -> None:
    if data is None:
        output.append(1)  # -1
    else:
        write_varint(output, len(data))
        output += data


def _written(value: int) -> bytes:
    output = bytearray()
    write_varint(output, value)
    return bytes(output)


# Nearly all sizes, and the first offsets, are of these.
_FEW: Final = 256
_VARINTS: Final = [_written(value) for value in range(_FEW)]
_TWO_BYTES: Final = 1 << 13


def _varint(value: int) -> bytes:
    if value < _FEW:
        return _VARINTS[value]
    if value < _TWO_BYTES:
        return bytes((value << 1 & 0x7F | 0x80, value >> 6))
    return _written(value)


class WrittenPairs:
    """The bytes of records without headers, with their batch's base timestamp.

    Coordinators write them by the thousand, so that no `Record` is made of each, and those of a
    long request are written in steps.
    """

    __slots__ = ("_parts", "count", "size_bytes")

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self.count = 0
        self.size_bytes = 0
        self._parts: list[bytes] = []
        for key, value in pairs:
            self.add(key, value)

    def add(self, key: bytes, value: bytes | None) -> None:
        """The next record."""
        offset_delta = _varint(self.count)
        key_size = _varint(len(key))
        value_size, value = (b"\1", b"") if value is None else (_varint(len(value)), value)
        size = 3 + len(offset_delta) + len(key_size) + len(key) + len(value_size) + len(value)
        own_size = _varint(size)
        self._parts.append(
            b"".join((own_size, b"\0\0", offset_delta, key_size, key, value_size, value, b"\0"))
        )
        self.count += 1
        self.size_bytes += len(own_size) + size

    def data(self) -> bytes:
        """All of them."""
        return b"".join(self._parts)
