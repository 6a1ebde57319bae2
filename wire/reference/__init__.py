"""The protocol once more, by construct: an independent reading of the same declarations.

Parsers and builders are generated (compile_messages.py, compile_rows.py). This room reads the
declarations by other means: construct's own Struct, FocusedSeq, Array and PrefixedArray. So it can
judge the generated code in tests, and explain a broken frame:

    a length of 5 with 1 bytes left (MetadataRequest.topics[0].name, byte 14)

It takes some 50 microseconds for every field, and construct takes 0.3 s to import. So it is not on
the way of any request. The dispatcher asks it in a thread, once a request was found malformed.
"""

from __future__ import annotations

from typing import Any, BinaryIO, TypeVar, cast

from kafkalite.wire.errors import ProtocolViolation, WireError
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.reference.streams import ChunkStream, Frame
from kafkalite.wire.reference.structs import struct_of
from kafkalite.wire.schema import message_of

T = TypeVar("T")


def parse_declared(
    class_: type[T],
    version: int,
    buffer: InMemory,
    position: int = 0,
    *,
    whole: bool = True,
) -> tuple[T, int]:
    """A message that begins at `position`, and the position after it.

    Not `whole`: bytes may follow it.

    Raises ProtocolViolation.
    """
    stream = Frame(buffer, position)
    flexible = message_of(class_).is_flexible(version)
    try:
        value: T = struct_of(class_, version, flexible).parse_stream(cast(BinaryIO, stream))
        if whole and stream.tell() < len(buffer):
            left = len(buffer) - stream.tell()
            raise ProtocolViolation(f"{left} bytes left over", position=stream.tell())
    except WireError as error:
        error.inside(class_.__name__)
        raise
    return value, stream.tell()


def build_declared(value: object, version: int) -> list[Records]:
    """The chunks of an encoded message; raises InvalidMessage."""
    stream = ChunkStream()
    class_: Any = type(value)
    flexible = message_of(class_).is_flexible(version)
    try:
        struct_of(class_, version, flexible).build_stream(value, stream)
    except WireError as error:
        error.inside(class_.__name__)
        raise
    stream.end_chunk()
    return stream.chunks
