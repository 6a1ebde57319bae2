"""The forms that types have on the wire, each as a construct.

Kafka writes strings, bytes and arrays in two forms. In the *plain* form a length is an int16
(strings) or int32 (bytes, arrays), and -1 says null. In *compact* form, that of flexible versions
(KIP-482), the length is an unsigned varint one larger than the length, so that 0 says null.

A construct that meets bytes it cannot take raises ProtocolViolation with the position; asked to
build from a value it cannot take, InvalidMessage. The structs around it add the path
(constructs.py).
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO, Final, cast
from uuid import UUID

import construct
from construct import Construct

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation, too_many_elements
from kafkalite.wire.fields import (
    MAX_STRING_BYTES,
    FieldType,
    InMemory,
    Records,
    plain_nullable_string,
    unsigned_varint,
)


def bytes_left(stream: BinaryIO) -> int:
    """How many bytes are between the stream's position and its end."""
    position = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(position)
    return end - position


def take(stream: BinaryIO, size: int) -> bytes:
    """Exactly `size` bytes of the stream; raises ProtocolViolation when there are fewer."""
    left = bytes_left(stream)
    if size > left:
        raise ProtocolViolation(f"{size} bytes expected, {left} left", position=stream.tell())
    return stream.read(size)


class Frame(io.RawIOBase):
    """A frame that is being read, without a copy of it, and how much it may still be made of.

    `most_elements` are its array elements and tagged fields; None: any number.
    """

    def __init__(self, buffer: InMemory, position: int, most_elements: int | None) -> None:
        super().__init__()
        self.view = memoryview(buffer)
        self.position = position
        self.elements_left = most_elements

    def read(self, size: int = -1) -> bytes:
        start = self.position
        self.position = min(start + size, len(self.view)) if size >= 0 else len(self.view)
        return bytes(self.view[start : self.position])

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: len(self.view)}[whence]
        self.position = start + offset
        return self.position

    def take_elements(self, count: int) -> None:
        if self.elements_left is None:
            return
        self.elements_left -= count
        if self.elements_left < 0:
            raise too_many_elements(position=self.tell())


class Fixed(construct.Subconstruct):
    """One of construct's own fixed-size constructs, with our errors."""

    def __init__(self, subcon: Construct, size: int) -> None:
        super().__init__(subcon)
        self.size = size

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        return self.subcon.parse(take(stream, self.size))

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        try:
            stream.write(self.subcon.build(obj))
        except construct.ConstructError as error:
            raise InvalidMessage(f"{obj!r} does not fit") from error
        return obj


class UnsignedVarint(Construct):
    """Seven bits per byte, the lowest first; at most the five bytes of a 32-bit number."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> int:
        start = stream.tell()
        value = 0
        for shift in range(0, 35, 7):
            byte = take(stream, 1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > 0xFFFFFFFF:
                    break
                return value
        raise ProtocolViolation("a varint is longer than 32 bits", position=start)

    def _build(self, obj: int, stream: BinaryIO, context: Any, path: str) -> int:
        stream.write(unsigned_varint(obj))
        return obj


class CompactLength(construct.Adapter):
    """A length or -1, written one larger so that null is 0."""

    def _decode(self, obj: int, context: Any, path: str) -> int:
        return obj - 1

    def _encode(self, obj: int, context: Any, path: str) -> int:
        return obj + 1


class Uuid(Construct):
    def _parse(self, stream: BinaryIO, context: Any, path: str) -> UUID:
        return UUID(bytes=take(stream, 16))

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> UUID:
        if not isinstance(obj, UUID):
            raise InvalidMessage(f"{obj!r} is no UUID")
        stream.write(obj.bytes)
        return obj


VARINT: Final = UnsignedVarint()
COMPACT_LENGTH: Final = CompactLength(VARINT)
INT16: Final = Fixed(construct.Int16sb, 2)
INT32: Final = Fixed(construct.Int32sb, 4)


def read_length(stream: BinaryIO, length: Construct, *, nullable: bool) -> int | None:
    """A length that the rest of the frame can hold, or None for null."""
    position = stream.tell()
    size: int = length.parse_stream(stream)
    if size == -1:
        if nullable:
            return None
        raise ProtocolViolation("null where none is allowed", position=position)
    if size < 0:
        raise ProtocolViolation(f"a length of {size}", position=position)
    left = bytes_left(stream)
    if size > left:
        raise ProtocolViolation(f"a length of {size} with {left} bytes left", position=position)
    return size


class Bytes(Construct):
    """A length and as many bytes."""

    def __init__(self, length: Construct, *, nullable: bool) -> None:
        super().__init__()
        self.length = length
        self.nullable = nullable

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        size = read_length(stream, self.length, nullable=self.nullable)
        return None if size is None else take(stream, size)

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise InvalidMessage("None where null is not allowed")
            self.length.build_stream(-1, stream)
            return obj
        encoded = self.encoded(obj)
        self.length.build_stream(len(encoded), stream)
        self.write(encoded, stream)
        return obj

    def encoded(self, value: Any) -> Any:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise InvalidMessage(f"{value!r} is not bytes")
        return bytes(cast(InMemory, value))

    def write(self, encoded: Any, stream: BinaryIO) -> None:
        stream.write(encoded)


class String(Bytes):
    """UTF-8. As in Kafka, malformed bytes are read as U+FFFD rather than refused."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        start = stream.tell()
        value = super()._parse(stream, context, path)
        if value is None:
            return None
        if len(value) > MAX_STRING_BYTES:
            raise ProtocolViolation(f"a string of {len(value)} bytes", position=start)
        return value.decode(errors="replace")

    def encoded(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise InvalidMessage(f"{value!r} is not a string")
        try:
            encoded = value.encode()
        except UnicodeEncodeError as error:
            raise InvalidMessage(f"{value!r} is not text") from error
        if len(encoded) > MAX_STRING_BYTES:
            raise InvalidMessage(f"a string of {len(encoded)} bytes")
        return encoded


class RecordBatches(Bytes):
    """Record batches are not looked into, nor copied: parsed, they are a view into the frame."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        size = read_length(stream, self.length, nullable=self.nullable)
        if size is None:
            return None
        start = stream.tell()
        stream.seek(size, io.SEEK_CUR)
        return cast(Frame, stream).view[start : start + size]

    def encoded(self, value: Any) -> Any:
        if not hasattr(value, "__len__") or isinstance(value, str):
            raise InvalidMessage(f"{value!r} is neither bytes nor a chunk")
        return value

    def write(self, encoded: Any, stream: BinaryIO) -> None:
        if isinstance(stream, ChunkStream):
            stream.pass_through(encoded)
        else:
            stream.write(bytes(encoded))


class ChunkStream(io.BytesIO):
    """Collects what is built, letting chunks pass through as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks: list[Records] = []

    def pass_through(self, chunk: Records) -> None:
        if len(chunk):
            self.end_chunk()
            self.chunks.append(chunk)

    def end_chunk(self) -> None:
        if self.tell():
            self.chunks.append(self.getvalue())
            self.seek(0)
            self.truncate()


FIXED: Final[dict[str, Construct]] = {
    "bool": Fixed(construct.Flag, 1),
    "int8": Fixed(construct.Int8sb, 1),
    "int16": INT16,
    "uint16": Fixed(construct.Int16ub, 2),
    "int32": INT32,
    "uint32": Fixed(construct.Int32ub, 4),
    "int64": Fixed(construct.Int64sb, 8),
    "float64": Fixed(construct.Float64b, 8),
    "uuid": Uuid(),
}
# With the plain length of each.
SIZED: Final[dict[str, tuple[type[Bytes], Construct]]] = {
    "string": (String, INT16),
    "bytes": (Bytes, INT32),
    "records": (RecordBatches, INT32),
}


def form_of(type_: FieldType[Any], *, compact: bool, nullable: bool) -> Construct:
    """The construct of a type in one of its forms."""
    if type_.name in FIXED:
        return FIXED[type_.name]
    kind, plain_length = SIZED[type_.name]
    compact = compact and type_ is not plain_nullable_string
    return kind(COMPACT_LENGTH if compact else plain_length, nullable=nullable)
