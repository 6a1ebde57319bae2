"""Numbers, texts, bytes and records of the reference codec, in both forms, and their mistakes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from construct import Construct

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import (
    MAX_STRING_BYTES,
    FieldType,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    plain_nullable_string,
    records,
    string,
    uint16,
    uint32,
    uuid,
)
from kafkalite.wire.reference.streams import ChunkStream, Frame
from kafkalite.wire.reference.values import COMPACT_LENGTH, VARINT, value_of


def parse(part: Construct, encoded: str) -> Any:
    stream: Any = Frame(bytes.fromhex(encoded), 0)
    value = part.parse_stream(stream)
    assert stream.tell() == len(stream.view)
    return value


def build(part: Construct, value: Any) -> str:
    stream = ChunkStream()
    part.build_stream(value, stream)
    stream.end_chunk()
    return b"".join(map(bytes, stream.chunks)).hex()


def form(type_: FieldType[Any], kind: str = "plain", *, nullable: bool = False) -> Construct:
    return value_of(type_, compact=kind == "compact", nullable=nullable)


@pytest.mark.parametrize(
    ("type_", "value", "encoded"),
    [
        (boolean, True, "01"),
        (int8, -1, "ff"),
        (int16, -2, "fffe"),
        (uint16, 65535, "ffff"),
        (int32, 258, "00000102"),
        (uint32, 2**32 - 1, "ffffffff"),
        (int64, -1, "ff" * 8),
        (float64, 1.5, "3ff8000000000000"),
        (uuid, UUID(int=1), "00" * 15 + "01"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "compact"])
def test_fixed_sizes(type_: FieldType[Any], value: Any, encoded: str, kind: str) -> None:
    assert parse(form(type_, kind), encoded) == value
    assert build(form(type_, kind), value) == encoded


@pytest.mark.parametrize(
    ("type_", "value", "plain", "compact"),
    [
        (string, "ab", "00026162", "036162"),
        (string, "", "0000", "01"),
        (string, None, "ffff", "00"),
        (bytes_, b"ab", "000000026162", "036162"),
        (bytes_, None, "ffffffff", "00"),
        (records, b"ab", "000000026162", "036162"),
        (records, None, "ffffffff", "00"),
        # The client id keeps the plain form in flexible versions, too.
        (plain_nullable_string, "ab", "00026162", "00026162"),
    ],
)
def test_sizes_of_their_own(type_: FieldType[Any], value: Any, plain: str, compact: str) -> None:
    for kind, encoded in (("plain", plain), ("compact", compact)):
        assert parse(form(type_, kind, nullable=True), encoded) == value
        assert build(form(type_, kind, nullable=True), value) == encoded


@pytest.mark.parametrize("type_", [string, bytes_, records])
@pytest.mark.parametrize("kind", ["plain", "compact"])
def test_null_where_none_is_allowed(type_: FieldType[Any], kind: str) -> None:
    null = build(form(type_, kind, nullable=True), None)
    with pytest.raises(ProtocolViolation, match="null where none is allowed"):
        parse(form(type_, kind), null)
    with pytest.raises(InvalidMessage, match="None where null is not allowed"):
        build(form(type_, kind), None)


def test_long_texts() -> None:
    longest = "x" * MAX_STRING_BYTES
    for kind in ("plain", "compact"):
        assert parse(form(string, kind), build(form(string, kind), longest)) == longest
        with pytest.raises(InvalidMessage, match="a string of 32768 bytes"):
            build(form(string, kind), longest + "x")
    with pytest.raises(ProtocolViolation, match="a string of 32768 bytes"):
        parse(form(string, "compact"), "818002" + "78" * 32768)


def test_malformed_text_is_replaced() -> None:
    assert parse(form(string), "0002 ff61") == "\ufffda"


@pytest.mark.parametrize(("value", "encoded"), [(0, "00"), (127, "7f"), (300, "ac02")])
def test_varints(value: int, encoded: str) -> None:
    assert parse(VARINT, encoded) == value
    assert build(VARINT, value) == encoded
    assert parse(COMPACT_LENGTH, encoded) == value - 1
    assert build(COMPACT_LENGTH, value - 1) == encoded


@pytest.mark.parametrize(
    ("part", "encoded", "reason", "position"),
    [
        (form(int32), "0000", "4 bytes expected, 2 left", 0),
        (VARINT, "8080", "1 bytes expected, 0 left", 2),
        (VARINT, "ffffffffff00", "longer than 32 bits", 0),
        (VARINT, "ffffffffff", "longer than 32 bits", 0),
        (VARINT, "ffffffff1f", "longer than 32 bits", 0),
        (form(string), "fffe", "a length of -2", 0),
        (form(string), "0005 61", "a length of 5 with 1 bytes left", 0),
        (form(bytes_, "compact"), "0661", "a length of 5 with 1 bytes left", 0),
    ],
)
def test_what_is_wrong_and_where(part: Construct, encoded: str, reason: str, position: int) -> None:
    with pytest.raises(ProtocolViolation, match=reason) as caught:
        parse(part, encoded)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (int8, 128),
        (int32, "5"),
        (uuid, "5"),
        (string, b"bytes"),
        (string, "\ud800"),
        (bytes_, "text"),
        (records, "text"),
        (records, 5),
    ],
)
def test_a_value_that_does_not_fit(type_: FieldType[Any], value: Any) -> None:
    with pytest.raises(InvalidMessage):
        build(form(type_, nullable=True), value)


def test_records_are_a_view_and_a_chunk() -> None:
    buffer = bytearray.fromhex("00000002 6162")
    stream: Any = Frame(buffer, 0)
    parsed = form(records).parse_stream(stream)
    buffer[4:] = b"XY"
    assert parsed == b"XY"
    chunks = ChunkStream()
    form(records).build_stream(parsed, chunks)
    assert chunks.chunks == [bytes(buffer[:4]), parsed]
