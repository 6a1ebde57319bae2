"""Any declared message to and from bytes.

The generated code goes first. The reference codec takes over where that meets anything odd.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from kafkalite.wire.compile_build import BUILD_ODDITIES, Builder
from kafkalite.wire.compile_messages import MessageBuilderWriter, MessageParserWriter
from kafkalite.wire.compile_parse import Parser
from kafkalite.wire.errors import InvalidMessage
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.parse_support import PARSE_ODDITIES
from kafkalite.wire.schema import message_of

T = TypeVar("T")


_parsers: dict[tuple[type[Any], int, bool, bool], Parser] = {}
_builders: dict[tuple[type[Any], int], Builder] = {}


def parser_of(
    class_: type[Any], version: int, in_memoryview: bool = False, whole: bool = True
) -> Parser:
    """The generated parser, made at first use. Not `whole`: bytes after the message are passed
    over."""
    found = _parsers.get((class_, version, in_memoryview, whole))
    if found is None:
        flexible = message_of(class_).is_flexible(version)
        writer = MessageParserWriter(version, flexible=flexible, in_memoryview=in_memoryview)
        found = writer.compile(class_, whole=whole)
        _parsers[class_, version, in_memoryview, whole] = found
    return found


def builder_of(class_: type[Any], version: int) -> Builder:
    """The generated builder, made at first use."""
    found = _builders.get((class_, version))
    if found is None:
        flexible = message_of(class_).is_flexible(version)
        found = MessageBuilderWriter(version, flexible=flexible).compile(class_)
        _builders[class_, version] = found
    return found


def parse_body(
    class_: type[T], version: int, buffer: InMemory, position: int = 0, *, whole: bool = True
) -> T:
    """The message that fills the buffer from `position` on; raises ProtocolViolation.

    Not `whole`: bytes after it are passed over.
    """
    parse = parser_of(class_, version, type(buffer) is not bytes, whole)
    try:
        body: T = parse(buffer, position, len(buffer))
    except PARSE_ODDITIES:
        pass  # not here: the exception would keep what was parsed so far
    else:
        return body
    # Here, as construct takes longer to import than all else: most runs never meet anything odd.
    from kafkalite.wire.reference import parse_declared

    return parse_declared(class_, version, buffer, position, whole=whole)[0]


def build_body(value: object, version: int) -> list[Records]:
    """The chunks of an encoded message; raises InvalidMessage."""
    parts: list[bytes] = []
    chunks: list[Records] = []
    try:
        builder_of(type(value), version)(value, parts, chunks)
        chunks.append(b"".join(parts))
    except BUILD_ODDITIES:
        pass
    else:
        return chunks
    from kafkalite.wire.reference import build_declared

    return build_declared(value, version)


def join(chunks: list[Records]) -> bytes:
    """One piece of bytes, for messages whose records are in memory."""
    if len(chunks) == 1 and isinstance(chunks[0], bytes):
        return chunks[0]
    buffers: list[InMemory] = []
    for chunk in chunks:
        if not isinstance(chunk, (bytes, memoryview)):
            raise InvalidMessage(f"{chunk!r} is not in memory")
        buffers.append(cast(InMemory, chunk))
    return b"".join(buffers)
