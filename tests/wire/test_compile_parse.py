"""Generated parsers: what they refuse, what they copy, and their three modes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.compile_messages import MessageParserWriter
from kafkalite.wire.compile_source import NUMBERS_AT_ONCE, STEP, Mode
from kafkalite.wire.fields import (
    InMemory,
    boolean,
    bytes_,
    float64,
    int8,
    int32,
    int64,
    records,
    string,
    uint16,
    uint32,
    uuid,
)
from kafkalite.wire.parse_support import (
    FEW_ELEMENTS,
    PARSE_ODDITIES,
    ManyElements,
    Odd,
    TooManyElements,
)
from kafkalite.wire.schema import array, data, field, nullable_nested, struct


@struct
class Name:
    name: str = field(string)


@data(versions=(0, 1), flexible=1)
class Names:
    names: list[Name] = array(Name)


@data(versions=(0, 1), flexible=1)
class Numbers:
    numbers: list[int] = array(int32)
    ids: list[UUID] = array(uuid)


@data(versions=(0, 1), flexible=1)
class Bytes:
    raw: bytes = field(bytes_)
    records: InMemory | None = field(records)


@data(versions=(0, 1), flexible=1)
class Fixed:
    flag: bool = field(boolean)
    tiny: int = field(int8)
    port: int = field(uint16)
    count: int = field(uint32)
    size: int = field(int64)
    ratio: float = field(float64)
    topic_id: UUID = field(uuid)
    last: int = field(int8)


@data(versions=(0, 0), flexible=0)
class Perhaps:
    inner: Name | None = nullable_nested(Name)
    tagged: Name | None = nullable_nested(Name, tag=0)


def parser(
    class_: type[Any],
    version: int = 0,
    *,
    whole: bool = True,
    in_memoryview: bool = False,
    mode: Mode = Mode.FAST,
) -> Any:
    flexible = bool(version)
    writer = MessageParserWriter(version, flexible=flexible, in_memoryview=in_memoryview, mode=mode)
    return writer.compile(class_, whole=whole)


def parsed(class_: type[Any], encoded: str, version: int = 0, **options: Any) -> Any:
    buffer = bytes.fromhex(encoded)
    return parser(class_, version, **options)(buffer, 0, len(buffer))


def test_fields_of_fixed_size() -> None:
    encoded = "01 ff ffff ffffffff 8000000000000000 3ff8000000000000" + "0f" * 16 + "05"
    expected = Fixed(True, -1, 65535, 2**32 - 1, -(2**63), 1.5, UUID(bytes=b"\x0f" * 16), 5)
    assert parsed(Fixed, encoded) == expected
    assert parsed(Fixed, encoded + "00", 1) == expected


@pytest.mark.parametrize(
    ("class_", "version", "encoded"),
    [
        (Names, 0, "00000001 ffff"),  # null for a string
        (Names, 1, "02 00 00"),
        (Names, 0, "00000001 fffe"),  # a negative length
        (Names, 0, "00000001 0002 61"),  # cut in a string
        (Names, 1, "02 03 61"),
        (Names, 0, "7fffffff 0000"),  # more elements than bytes
        (Names, 1, "ffffffff0f 00"),
        (Names, 1, "ffffffffff0f 00"),  # a varint of more than 32 bits
        (Numbers, 0, "00000002 00000001"),  # numbers that are not there
        (Numbers, 1, "02 00000001 02 0011 00"),  # cut in a UUID
        (Names, 0, "00000000 00"),  # bytes left over
        (Names, 1, "01 00 00"),
    ],
)
def test_input_that_is_not_for_it_ends_in_an_oddity(
    class_: type[Any], version: int, encoded: str
) -> None:
    for in_memoryview in (False, True):
        with pytest.raises(PARSE_ODDITIES):
            parsed(class_, encoded, version, in_memoryview=in_memoryview)


def test_a_count_is_refused_before_anything_is_read() -> None:
    """Not one element is made on a peer's word."""

    class Watched(bytes):
        read = 0

        def __getitem__(self, at: Any) -> Any:
            Watched.read += 1
            return super().__getitem__(at)

    buffer = Watched(bytes.fromhex("ffffff7f") + bytes(1000))
    with pytest.raises(PARSE_ODDITIES):
        parser(Names, 1)(buffer, 0, len(buffer))
    assert Watched.read < 6  # the bytes of the varint


def test_bytes_after_the_message_are_passed_over_unless_it_is_to_be_whole() -> None:
    buffer = bytes.fromhex("00000001 0001 61 ffff")
    assert parser(Names, whole=False)(buffer, 0, len(buffer)) == Names([Name("a")])
    with pytest.raises(PARSE_ODDITIES):
        parser(Names, whole=False)(buffer[:6], 0, 6)


def test_it_begins_where_it_is_told_to() -> None:
    buffer = bytes.fromhex("dead 00000001 0001 61")
    assert parser(Names)(buffer, 2, len(buffer)) == Names([Name("a")])


def test_records_are_views_and_bytes_are_copies() -> None:
    buffer = bytearray.fromhex("00000002 6162 00000003 636465")
    body = parser(Bytes, in_memoryview=True)(memoryview(buffer), 0, len(buffer))
    buffer[:] = b"\0" * len(buffer)
    assert body.raw == b"ab"
    assert body.records == b"\0\0\0"
    assert parsed(Bytes, "00000000 ffffffff").records is None
    whole = bytes.fromhex("00000002 6162 00000003 636465")
    assert parser(Bytes)(whole, 0, len(whole)).records.obj is whole


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        ("ff 00", Perhaps()),
        ("01 02 61 00 00", Perhaps(Name("a"))),
        ("ff 01 00 04 01 02 61 00", Perhaps(None, Name("a"))),
        ("ff 01 00 01 00", Perhaps()),  # in a tagged field, 0 says null
    ],
)
def test_structs_that_may_be_null(encoded: str, expected: Perhaps) -> None:
    buffer = bytes.fromhex(encoded)
    parse = MessageParserWriter(0, flexible=True, in_memoryview=False).compile(Perhaps)
    assert parse(buffer, 0, len(buffer)) == expected


def test_a_tagged_field_has_the_size_that_it_says() -> None:
    parse = MessageParserWriter(0, flexible=True, in_memoryview=False).compile(Perhaps)
    for size in (3, 4, 5):
        buffer = bytes.fromhex(f"ff 01 00 0{size} 01 02 61 00")
        if size == 4:
            assert parse(buffer, 0, len(buffer)) == Perhaps(None, Name("a"))
            continue
        with pytest.raises(PARSE_ODDITIES):
            parse(buffer, 0, len(buffer))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 300])
@pytest.mark.parametrize("mode", [Mode.FAST, Mode.COUNTED])
def test_arrays_of_any_length(count: int, mode: Mode) -> None:
    names = count.to_bytes(4, "big") + b"\0\1a" * count
    assert parsed(Names, names.hex(), mode=mode) == Names([Name("a")] * count)
    numbers = count.to_bytes(4, "big") + bytes(range(4)) * count
    expected = Numbers([0x00010203] * count, [])
    assert parsed(Numbers, numbers.hex() + "00000000", mode=mode) == expected


def names_of(count: int) -> bytes:
    return count.to_bytes(4, "big") + b"\0\0" * count


def test_a_counted_parser_gives_up_at_many_elements() -> None:
    parse = parser(Names, mode=Mode.COUNTED)
    few = names_of(FEW_ELEMENTS)
    assert len(parse(few, 0, len(few)).names) == FEW_ELEMENTS
    many = names_of(FEW_ELEMENTS + 1)
    with pytest.raises(ManyElements):
        parse(many, 0, len(many))
    assert len(parser(Names)(many, 0, len(many)).names) == FEW_ELEMENTS + 1


def drained(steps: Generator[None, None, Any]) -> tuple[Any, int]:
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, pauses
        pauses += 1


def test_a_slow_parser_pauses_after_some_elements() -> None:
    parse = parser(Names, in_memoryview=True, mode=Mode.SLOW)
    for count, pauses in ((0, 0), (STEP, 0), (STEP + 1, 1), (4 * STEP + 4, 4)):
        buffer = memoryview(names_of(count))
        assert drained(parse(buffer, 0, len(buffer))) == (Names([Name()] * count), pauses)


def test_a_slow_parser_reads_numbers_in_portions() -> None:
    parse = parser(Numbers, in_memoryview=True, mode=Mode.SLOW)
    count = 2 * NUMBERS_AT_ONCE + 1
    buffer = memoryview(count.to_bytes(4, "big") + bytes(range(4)) * count + bytes(4))
    body, pauses = drained(parse(buffer, 0, len(buffer)))
    assert body.numbers == [0x00010203] * count
    assert pauses == 3


def test_a_slow_parser_takes_no_more_than_a_request_may_have() -> None:
    parse = parser(Names, in_memoryview=True, mode=Mode.SLOW)
    most = 43_691  # 32,768, and 10,923 for 8 bytes each
    buffer = memoryview(names_of(most))
    drained(parse(buffer, 0, len(buffer)))
    buffer = memoryview(names_of(most + 1))
    with pytest.raises(TooManyElements):
        drained(parse(buffer, 0, len(buffer)))


def test_a_number_counts_as_a_quarter_of_an_element() -> None:
    """Arrays of numbers of four bytes are never too long."""
    parse = parser(Numbers, in_memoryview=True, mode=Mode.SLOW)
    count = 300_000
    buffer = memoryview(count.to_bytes(4, "big") + bytes(4) * count + bytes(4))
    body, _ = drained(parse(buffer, 0, len(buffer)))
    assert body.numbers == [0] * count


def test_only_a_slow_parser_reads_malformed_text() -> None:
    encoded = "00000001 0001 ff"
    with pytest.raises(UnicodeDecodeError):
        parsed(Names, encoded)
    buffer = memoryview(bytes.fromhex(encoded))
    parse = parser(Names, in_memoryview=True, mode=Mode.SLOW)
    assert drained(parse(buffer, 0, len(buffer)))[0] == Names([Name("\ufffd")])


@pytest.mark.parametrize("class_", [Name, Names, Numbers, Bytes])
@pytest.mark.parametrize("in_memoryview", [False, True])
def test_null_in_two_bytes_is_null_too(class_: type[Any], in_memoryview: bool) -> None:
    """These are never null. What follows would be read as elements, from before their place."""
    frame: Any = b"\x80\x00" + bytes(60)
    parse = parser(class_, 1, whole=False, in_memoryview=in_memoryview)
    with pytest.raises(Odd):
        parse(memoryview(frame) if in_memoryview else frame, 0, len(frame))
