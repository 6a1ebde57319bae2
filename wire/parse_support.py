"""Functions that generated parsers call: varints, tag sections, topic ids, counts of elements."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from functools import lru_cache
from io import BytesIO
from typing import Any, Final
from uuid import UUID

from kafkalite.wire.fields import MAX_STRING_BYTES, NO_UUID, most_elements

MAX_UINT32: Final = 0xFFFFFFFF
MAX_INT32: Final = 0x7FFFFFFF


# All empty arrays of large frames, which may have very many. What was parsed does not change.
NO_ELEMENTS: Final[list[Any]] = []


class Odd(Exception):
    """Input for which the generated code is not made; a slower way takes over."""


class ManyElements(Exception):
    """More elements than can be made in one go: others would have to wait."""


class TooManyElements(Exception):
    """More elements than a request may have."""


# Exceptions of a generated parser for input that is not for it.
PARSE_ODDITIES: Final = (Odd, IndexError, ValueError, struct.error)


# Array elements and tagged fields of a frame that are made in one go: some 2 ms of work.
FEW_ELEMENTS: Final = 4096
_COPIED_AT_ONCE: Final = 1 << 20
_TAGS_AT_ONCE: Final = 127  # the most whose count is one byte
# Shorter tag sections are part of the step of the element that they are in.
SHORT_SECTION: Final = 16
# So many bytes that are copied count as an element: it takes less than to make one.
BYTES_OF_COUNTED: Final = 1024


class Count:
    """Array elements and tagged fields that a frame may still have."""

    __slots__ = ("_exceeded", "left")

    def __init__(self, most: int, exceeded: type[Exception]) -> None:
        self.left = most
        self._exceeded = exceeded

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise self._exceeded


def counting(size: int) -> Callable[[int], None]:
    """The account of a frame of so many bytes."""
    return Count(most_elements(size), TooManyElements).take


def counting_few(size: int) -> Callable[[int], None]:
    """The account of a frame that is read in one go, whatever its size."""
    return Count(FEW_ELEMENTS, ManyElements).take


def copied(buf: memoryview) -> Generator[None, None, bytes]:
    """The same bytes. Others have their turn after each megabyte."""
    if len(buf) <= _COPIED_AT_ONCE:
        return bytes(buf)
    made = BytesIO()
    for start in range(0, len(buf), _COPIED_AT_ONCE):
        made.write(buf[start : start + _COPIED_AT_ONCE])
        yield
    return made.getvalue()  # it is not copied, as `made` goes


def long_varint(buf: Any, pos: int) -> tuple[int, int]:
    """A varint whose first byte, read already, said that there are more."""
    value = buf[pos - 1] & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_UINT32:
                raise Odd
            return value, pos
    raise Odd


def tag_count(buf: Any, pos: int) -> tuple[int, int]:
    """`long_varint` for the count of a tag section; negative in Java's int, it means no tags."""
    count, pos = long_varint(buf, pos)
    return (count if count <= MAX_INT32 else 0), pos


def long_string(buf: Any, pos: int) -> tuple[int, int]:
    """`long_varint` for the compact length of a string."""
    value, pos = long_varint(buf, pos)
    if value > MAX_STRING_BYTES + 1:
        raise Odd
    return value, pos


def varint(buf: Any, pos: int) -> tuple[int, int]:
    value = buf[pos]
    return (value, pos + 1) if value < 0x80 else long_varint(buf, pos + 1)


def unknown_tags(
    buf: Any, count: int, pos: int, take: Callable[[int], None] | None = None
) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """A tag section of which nothing is declared."""
    if count > 127:
        count, pos = tag_count(buf, pos)
    if take is not None:
        take(count)
    tags: list[tuple[int, bytes]] = []
    for _ in range(count):
        tag, pos = varint(buf, pos)
        size, pos = varint(buf, pos)
        if take is not None and size >= BYTES_OF_COUNTED:
            take(size // BYTES_OF_COUNTED)
        tags.append((tag, bytes(buf[pos : pos + size])))
        pos += size
    return tuple(tags), pos


def skip_tags(
    buf: Any, count: int, pos: int, end: int, take: Callable[[int], None] | None = None
) -> int:
    """The position after a tag section without declared tags, none of which is kept."""
    if count > 127:
        count, pos = tag_count(buf, pos)
    if take is not None:
        take(count)
    for _ in range(count):
        _, pos = varint(buf, pos)
        size, pos = varint(buf, pos)
        pos += size
    return pos


def skip_tags_in_slices(
    buf: Any, count: int, pos: int, end: int, take: Callable[[int], None]
) -> Generator[None, None, int]:
    """`skip_tags` in slices: yields in long sections."""
    if count > 127:
        count, pos = tag_count(buf, pos)
    take(count)
    for start in range(0, count, _TAGS_AT_ONCE):
        pos = skip_tags(buf, min(count - start, _TAGS_AT_ONCE), pos, end)
        if count > SHORT_SECTION:
            yield
    return pos


@lru_cache(maxsize=4096)
def uuid_of(encoded: bytes) -> UUID:
    """Topic ids come again and again, and a UUID takes a microsecond to make. None is NO_UUID."""
    return UUID(bytes=encoded) if any(encoded) else NO_UUID
