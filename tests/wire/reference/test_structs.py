"""Structs, arrays and tag sections of the reference codec, and the path to a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import int8, int32, nullable_string
from kafkalite.wire.reference import build_declared, parse_declared
from kafkalite.wire.reference.structs import struct_of
from kafkalite.wire.schema import (
    array,
    data,
    field,
    nullable_array,
    nullable_nested,
    struct,
)


@struct
class Inner:
    number: int = field(int8)


@data(versions=(0, 2), flexible=2)
class Outer:
    name: str | None = field(nullable_string, nullable_since=1)
    items: list[Inner] = array(Inner)
    numbers: list[int] | None = nullable_array(int32)
    later: int = field(int32, since=1, default=5)
    ignorable: int = field(int32, since=1, ignorable=True)
    perhaps: Inner | None = nullable_nested(Inner, since=1)
    tagged: Inner | None = nullable_nested(Inner, since=2, tag=4)
    count: int = field(int32, since=2, tag=1, default=-1)


@data(versions=(0, 0), flexible=0)
class Default:
    inner: Inner | None = nullable_nested(Inner, tag=4, null_by_default=False)


def parse(encoded: str, version: int) -> Outer:
    return parse_declared(Outer, version, bytes.fromhex(encoded))[0]


def build(value: Any, version: int) -> str:
    return b"".join(map(bytes, build_declared(value, version))).hex(" ")


BY_HAND: list[tuple[int, Outer, str]] = [
    (0, Outer("a", [Inner(1), Inner(-1)], None), "0001 61 00000002 01 ff ffffffff"),
    (1, Outer(None, [], [9], 6, 7), "ffff 00000000 00000001 00000009 00000006 00000007 ff"),
    (1, Outer("", perhaps=Inner(3)), "0000 00000000 ffffffff 00000005 00000000 01 03"),
    (2, Outer("a", [Inner(1)]), "02 61 02 01 00 00 00000005 00000000 ff 00"),
    (
        2,
        Outer("a", perhaps=Inner(2), tagged=Inner(3), count=9),
        "02 61 01 00 00000005 00000000 01 02 00 02 01 04 00000009 04 03 01 03 00",
    ),
]


@pytest.mark.parametrize(("version", "value", "encoded"), BY_HAND)
def test_there_and_back_by_hand(version: int, value: Outer, encoded: str) -> None:
    assert build(value, version).replace(" ", "") == encoded.replace(" ", "")
    assert parse(encoded, version) == value


def test_unknown_tags_are_kept_in_order_between_the_known_ones() -> None:
    head = "02 61 01 00 00000005 00000000 ff"
    body = parse(head + "03 01 04 00000009 02 01 ff 09 00", 2)
    assert (body.count, body.unknown_tagged_fields) == (9, ((2, b"\xff"), (9, b"")))
    assert build(body, 2).replace(" ", "").endswith("ff030104000000090201ff0900")


def test_null_is_minus_one_or_in_a_tagged_field_zero() -> None:
    """Kafka's MessageDataGenerator makes this difference."""
    head = "02 61 01 00 00000005 00000000"
    assert parse(head + "ff 01 04 01 00", 2) == Outer("a")
    assert parse(head + "00 01 00 00", 2).perhaps == Inner(1)
    assert build(Default(None), 0).replace(" ", "") == "01040100"


def test_bytes_may_follow_a_message_that_need_not_be_whole() -> None:
    encoded = bytes.fromhex("0001 61 00000000 ffffffff dead")
    value, position = parse_declared(Outer, 0, encoded, whole=False)
    assert (value, position) == (Outer("a", [], None), 11)
    with pytest.raises(ProtocolViolation, match="2 bytes left over") as caught:
        parse_declared(Outer, 0, encoded)
    assert caught.value.position == 11


@pytest.mark.parametrize(
    ("version", "encoded", "path", "position", "reason"),
    [
        (0, "ffff", "Outer.name", 0, "null where none is allowed"),
        (0, "0000 00000002 01", "Outer.items", 2, "a length of 2 with 1 bytes left"),
        (0, "0000 00000001", "Outer.items", 2, "a length of 1 with 0 bytes left"),
        (0, "0000 00000000 00000001 0000", "Outer.numbers[0]", 10, "4 bytes expected, 2 left"),
        (1, "0000 00000000 ffffffff 0000", "Outer.later", 10, "4 bytes expected, 2 left"),
        (2, "01 01 00 00000005 00000000 ff 01 01 09 00", "Outer", 16, "longer than what is left"),
        (
            2,
            "01 01 00 00000005 00000000 ff 01 01 05 0000000000",
            "Outer.count",
            15,
            "tag 1 has 4 bytes, not 5 as it says",
        ),
        (2, "01 01 00 00000005 00000000 ff 01 01 02 0000", "Outer.count", 15, "4 bytes expected"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    version: int, encoded: str, path: str, position: int, reason: str
) -> None:
    with pytest.raises(ProtocolViolation, match=reason) as caught:
        parse(encoded, version)
    assert (caught.value.field_path, caught.value.position) == (path, position)


@pytest.mark.parametrize(
    ("version", "value", "path", "reason"),
    [
        (0, Outer(None), "Outer.name", "None where null is not allowed"),
        (0, Outer("a", [Inner(1), Inner(128)]), "Outer.items[1].number", "does not fit"),
        (0, Outer("a", 5), "Outer.items", "is not a list"),
        (0, Outer("a", [3]), r"Outer.items[0]", "is no Inner"),
        (0, Outer("a", later=6), "Outer.later", "would be lost"),
        (1, Outer("a", tagged=Inner()), "Outer.tagged", "would be lost"),
        (2, Outer("a", count=1 << 31), "Outer.count", "does not fit"),
    ],
)
def test_a_message_that_cannot_be_sent(version: int, value: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidMessage, match=reason) as caught:
        build(value, version)
    assert caught.value.field_path == path


def test_an_ignorable_field_is_left_out() -> None:
    assert build(Outer("a", ignorable=9), 0) == build(Outer("a"), 0)


def test_a_struct_is_walked_once_for_each_version() -> None:
    assert struct_of(Outer, 1, False) is struct_of(Outer, 1, False)
    assert struct_of(Outer, 1, False) is not struct_of(Outer, 2, True)
