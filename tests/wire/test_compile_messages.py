"""Parsers make instances like those of a call, and builders take them apart."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from conformance.harness.messages import every_version, name_of
from kafkalite.wire.compile_messages import MessageBuilderWriter, MessageParserWriter
from kafkalite.wire.fields import int32, string, uuid
from kafkalite.wire.schema import array, data, field, message_of, nested, struct
from tests.each import for_each


@struct
class Inner:
    number: int = field(int32, default=7)
    topic_id: UUID = field(uuid)


@data(versions=(0, 1), flexible=1)
class Outer:
    name: str = field(string)
    later: Inner = nested(Inner, since=1)
    names: list[str] = array(string, since=1)
    count: int = field(int32, since=1, tag=3, default=-1)


def parse(encoded: str, version: int) -> Outer:
    buffer = bytes.fromhex(encoded)
    parser = MessageParserWriter(version, flexible=version > 0, in_memoryview=False).compile(Outer)
    return parser(buffer, 0, len(buffer))


def test_fields_that_a_version_does_not_have_are_at_their_defaults() -> None:
    assert parse("0001 61", 0) == Outer("a", Inner(7, UUID(int=0)), [], -1)


def test_instances_share_nothing() -> None:
    one, other = parse("0001 61", 0), parse("0001 61", 0)
    one.names.append("x")
    one.later.number = 1
    assert (other.names, other.later.number) == ([], 7)


INNER = "00000005" + "00" * 16


def test_tags_that_are_declared_and_tags_that_are_not() -> None:
    assert parse(f"02 61 {INNER} 00 01 00", 1) == Outer("a", Inner(5))
    assert parse(f"02 61 {INNER} 00 01 01 03 04 00000009", 1) == Outer("a", Inner(5), count=9)
    body = parse(f"02 61 {INNER} 01 04 01 62 01 02 03 04 00000009 07 00", 1)
    assert body.later.unknown_tagged_fields == ((4, b"b"),)
    assert body.unknown_tagged_fields == ((7, b""),)
    assert body.count == 9


@for_each(every_version(), name_of)
def test_defaults_there_and_back(case: tuple[type[Any], int]) -> None:
    """Every message in every version, with all fields at their defaults."""
    class_, version = case
    flexible = message_of(class_).is_flexible(version)
    value = class_()
    parts: list[bytes] = []
    chunks: list[Any] = []
    MessageBuilderWriter(version, flexible=flexible).compile(class_)(value, parts, chunks)
    assert chunks == []
    encoded = b"".join(parts)
    parser = MessageParserWriter(version, flexible=flexible, in_memoryview=False).compile(class_)
    assert parser(encoded, 0, len(encoded)) == value
