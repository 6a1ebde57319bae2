"""Numbers, texts, bytes and records, in Kafka's two forms.

In the *plain* form a length is an int16 (texts) or int32 (bytes, arrays), and -1 says null. In the
*compact* form, that of flexible versions (KIP-482), it is an unsigned varint of the length plus
one, and 0 says null. All of it is put together of construct's own parts. `Leaf` puts their errors
into our words.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Final, cast
from uuid import UUID

import construct
from construct import Construct, this

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import MAX_STRING_BYTES, FieldType, InMemory, plain_nullable_string
from kafkalite.wire.parse_support import MAX_UINT32
from kafkalite.wire.reference.streams import ChunkStream, Frame, bytes_left


class Leaf(construct.Subconstruct):
    """A part of a fixed size, or a varint, whose errors are told with their position."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        start = stream.tell()
        left = bytes_left(stream)
        try:
            return self.subcon._parsereport(stream, context, path)
        except construct.StreamError:
            size = left + 1 if self.subcon is construct.VarInt else self.subcon.sizeof()
            if self.subcon is construct.VarInt:
                start, left, size = start + left, 0, 1
            raise ProtocolViolation(f"{size} bytes expected, {left} left", position=start) from None

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        try:
            return self.subcon._build(obj, stream, context, path)
        except construct.ConstructError as error:
            raise InvalidMessage(f"{obj!r} does not fit") from error


class Varint(construct.Adapter):
    """Construct's VarInt, of at most the five bytes of a 32-bit number."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> int:
        start = stream.tell()
        head = stream.read(5)
        stream.seek(start)
        if len(head) == 5 and min(head) > 0x7F:
            raise ProtocolViolation("a varint is longer than 32 bits", position=start)
        value: int = super()._parse(stream, context, path)
        if value > MAX_UINT32:
            raise ProtocolViolation("a varint is longer than 32 bits", position=start)
        return value

    def _decode(self, obj: int, context: Any, path: str) -> int:
        return obj

    def _encode(self, obj: int, context: Any, path: str) -> int:
        return obj


class OneLess(construct.Adapter):
    """A length or -1, written one larger so that null is 0."""

    def _decode(self, obj: int, context: Any, path: str) -> int:
        return obj - 1

    def _encode(self, obj: int, context: Any, path: str) -> int:
        return obj + 1


class Length(construct.Subconstruct):
    """A length that the rest of the frame can hold, or -1 where null is allowed."""

    def __init__(self, subcon: Construct, *, nullable: bool) -> None:
        super().__init__(subcon)
        self.nullable = nullable

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> int:
        position = stream.tell()
        size: int = self.subcon._parsereport(stream, context, path)
        if size == -1 and self.nullable:
            return size
        if size == -1:
            raise ProtocolViolation("null where none is allowed", position=position)
        if size < 0:
            raise ProtocolViolation(f"a length of {size}", position=position)
        left = bytes_left(stream)
        if size > left:
            raise ProtocolViolation(f"a length of {size} with {left} bytes left", position=position)
        return size

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        if obj == -1 and not self.nullable:
            raise InvalidMessage("None where null is not allowed")
        return self.subcon._build(obj, stream, context, path)


def sized(length: Construct, content: Construct, *, nullable: bool) -> Construct:
    """A length, and what is as long; None for null."""
    return construct.FocusedSeq(
        "content",
        "size" / construct.Rebuild(Length(length, nullable=nullable), _size),
        "content" / construct.If(this.size >= 0, content),
    )


def _size(context: Any) -> int:
    return -1 if context.content is None else len(context.content)


class Text(construct.Adapter):
    """UTF-8. As in Kafka, malformed bytes are read as U+FFFD rather than refused."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        start = stream.tell()
        value = super()._parse(stream, context, path)
        if value is not None and len(value[1]) > MAX_STRING_BYTES:
            raise ProtocolViolation(f"a string of {len(value[1])} bytes", position=start)
        return value if value is None else value[0]

    def _decode(self, obj: bytes | None, context: Any, path: str) -> Any:
        return None if obj is None else (obj.decode(errors="replace"), obj)

    def _encode(self, obj: Any, context: Any, path: str) -> bytes | None:
        if obj is None:
            return None
        if not isinstance(obj, str):
            raise InvalidMessage(f"{obj!r} is not a string")
        try:
            encoded = obj.encode()
        except UnicodeEncodeError as error:
            raise InvalidMessage(f"{obj!r} is not text") from error
        if len(encoded) > MAX_STRING_BYTES:
            raise InvalidMessage(f"a string of {len(encoded)} bytes")
        return encoded


class RawBytes(construct.Adapter):
    """Bytes, or anything that can be made bytes of."""

    def _decode(self, obj: bytes | None, context: Any, path: str) -> bytes | None:
        return obj

    def _encode(self, obj: Any, context: Any, path: str) -> bytes | None:
        if obj is not None and not isinstance(obj, (bytes, bytearray, memoryview)):
            raise InvalidMessage(f"{obj!r} is not bytes")
        return None if obj is None else bytes(cast(InMemory, obj))


class Chunk(Construct):
    """Record batches are not looked into, nor copied: parsed, they are a view into the frame."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> memoryview:
        start = stream.tell()
        return cast(Frame, stream).view[start : stream.seek(context.size, 1)]

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        if isinstance(stream, ChunkStream):
            stream.pass_through(obj)
        else:
            stream.write(bytes(obj))
        return obj


class Records(construct.Adapter):
    def _decode(self, obj: Any, context: Any, path: str) -> Any:
        return obj

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        if obj is not None and (not hasattr(obj, "__len__") or isinstance(obj, str)):
            raise InvalidMessage(f"{obj!r} is neither bytes nor a chunk")
        return obj


class Uuid(construct.Adapter):
    def _decode(self, obj: bytes, context: Any, path: str) -> UUID:
        return UUID(bytes=obj)

    def _encode(self, obj: Any, context: Any, path: str) -> bytes:
        if not isinstance(obj, UUID):
            raise InvalidMessage(f"{obj!r} is no UUID")
        return obj.bytes


VARINT: Final = Varint(Leaf(construct.VarInt))
COMPACT_LENGTH: Final = OneLess(VARINT)
INT8: Final = Leaf(construct.Int8sb)
INT16: Final = Leaf(construct.Int16sb)
INT32: Final = Leaf(construct.Int32sb)
FIXED: Final[dict[str, Construct]] = {
    "bool": Leaf(construct.Flag),
    "int8": INT8,
    "int16": INT16,
    "uint16": Leaf(construct.Int16ub),
    "int32": INT32,
    "uint32": Leaf(construct.Int32ub),
    "int64": Leaf(construct.Int64sb),
    "float64": Leaf(construct.Float64b),
    "uuid": Uuid(Leaf(construct.Bytes(16))),
}


def value_of(type_: FieldType[Any], *, compact: bool, nullable: bool) -> Construct:
    """The construct of a type in one of its forms."""
    if type_.name in FIXED:
        return FIXED[type_.name]
    compact = compact and type_ is not plain_nullable_string
    length = COMPACT_LENGTH if compact else INT16 if type_.name == "string" else INT32
    if type_.name == "records":
        return Records(sized(length, Chunk(), nullable=nullable))
    content = sized(length, construct.Bytes(this.size), nullable=nullable)
    return Text(content) if type_.name == "string" else RawBytes(content)
