"""Generated builders: what they refuse, where a chunk ends, and when they pause."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.compile_build import BUILD_ODDITIES
from kafkalite.wire.compile_messages import MessageBuilderWriter
from kafkalite.wire.compile_source import STEP
from kafkalite.wire.fields import (
    MAX_STRING_BYTES,
    Records,
    int8,
    int32,
    nullable_string,
    records_chunk,
    string,
    uuid,
)
from kafkalite.wire.schema import (
    array,
    data,
    field,
    nullable_array,
    nullable_nested,
    struct,
)


@struct
class Name:
    name: str = field(string)


@data(versions=(0, 2), flexible=2)
class Versioned:
    name: str | None = field(nullable_string, nullable_since=1)
    since: int = field(int32, since=1, default=-1)
    ignorable: int = field(int32, since=1, ignorable=True)


@data(versions=(0, 1), flexible=1)
class Lists:
    numbers: list[int] = array(int32)
    names: list[Name] | None = nullable_array(Name)


@data(versions=(0, 0), flexible=0)
class Tagged:
    last: int = field(int8, tag=5)
    first: str = field(string, tag=0)
    topic_id: UUID = field(uuid, tag=2)
    inner: Name | None = nullable_nested(Name, tag=3)


@data(versions=(0, 1), flexible=1)
class Holder:
    before: int = field(int8)
    records: Records | None = field(records_chunk)
    after: int = field(int8)


def built(value: Any, version: int, *, flexible: bool) -> list[Records]:
    parts: list[bytes] = []
    chunks: list[Records] = []
    MessageBuilderWriter(version, flexible=flexible).compile(type(value))(value, parts, chunks)
    return [*chunks, b"".join(parts)]


def test_what_a_version_would_lose_is_refused() -> None:
    assert built(Versioned("n"), 0, flexible=False) == [bytes.fromhex("0001 6e")]
    with pytest.raises(BUILD_ODDITIES):
        built(Versioned("n", since=3), 0, flexible=False)
    # Ignorable fields are left out instead.
    assert built(Versioned("n", ignorable=9), 0, flexible=False) == [bytes.fromhex("0001 6e")]
    expected = bytes.fromhex("0001 6e 00000003 00000009")
    assert built(Versioned("n", 3, 9), 1, flexible=False) == [expected]


@pytest.mark.parametrize(
    "value",
    [
        Versioned(None),  # null from version 1 on
        Versioned(5),
        Versioned("x" * (MAX_STRING_BYTES + 1)),
        Versioned("\ud800"),
        Lists([1 << 31]),
        Lists(None),
        Lists([1], [None]),
        Lists([1], [Name(None)]),
    ],
)
def test_a_value_that_does_not_fit_ends_in_an_oddity(value: Any) -> None:
    for version, flexible in ((0, False), (1, True)):
        if type(value) is Versioned and value.name is None and version == 1:
            continue
        with pytest.raises(BUILD_ODDITIES):
            built(value, version, flexible=flexible)


def test_unknown_tagged_fields_are_left_to_the_reference_codec() -> None:
    value = Lists()
    value.unknown_tagged_fields = ((9, b"x"),)
    with pytest.raises(BUILD_ODDITIES):
        built(value, 1, flexible=True)


@pytest.mark.parametrize(
    ("length", "encoded"), [(0, "01"), (126, "7f"), (127, "8001"), (32767, "808002")]
)
def test_compact_lengths(length: int, encoded: str) -> None:
    (whole,) = built(Versioned("x" * length), 2, flexible=True)
    assert isinstance(whole, bytes)
    assert whole.startswith(bytes.fromhex(encoded) + b"x" * length + b"\xff\xff\xff\xff")


@pytest.mark.parametrize("count", [0, 7, 8, 126, 127, 300])
def test_arrays_of_any_length(count: int) -> None:
    numbers = b"".join(number.to_bytes(4, "big") for number in range(count))
    plain = count.to_bytes(4, "big") + numbers + b"\xff\xff\xff\xff"
    assert built(Lists(list(range(count)), None), 0, flexible=False) == [plain]
    size = (
        bytes([count + 1]) if count < 127 else bytes([(count + 1) & 0x7F | 0x80, (count + 1) >> 7])
    )
    assert built(Lists(list(range(count)), None), 1, flexible=True) == [size + numbers + b"\0\0"]


def test_tags_are_in_ascending_order_and_defaults_are_not_written() -> None:
    assert built(Tagged(), 0, flexible=True) == [b"\0"]
    value = Tagged(last=-1, first="a", topic_id=UUID(int=1), inner=Name("b"))
    expected = "04  00 02 02 61  02 10" + "00" * 15 + "01  03 04 01 02 62 00  05 01 ff"
    assert built(value, 0, flexible=True) == [bytes.fromhex(expected)]
    assert built(Tagged(last=7), 0, flexible=True) == [bytes.fromhex("01 05 01 07")]


class InFile:
    def __len__(self) -> int:
        return 1000


def test_records_end_a_chunk_and_are_passed_on() -> None:
    piece = InFile()
    chunks = built(Holder(1, piece, 2), 0, flexible=False)
    assert chunks == [bytes.fromhex("01 000003e8"), piece, b"\2"]
    assert chunks[1] is piece
    assert built(Holder(1, piece, 2), 1, flexible=True)[0] == bytes.fromhex("01 e907")


def test_records_without_bytes_are_no_chunk() -> None:
    assert built(Holder(1, b"", 2), 0, flexible=False) == [bytes.fromhex("01 00000000 02")]
    assert built(Holder(1, None, 2), 0, flexible=False) == [bytes.fromhex("01 ffffffff 02")]


@pytest.mark.parametrize(("count", "pauses"), [(0, 0), (STEP, 0), (STEP + 1, 1), (1000, 3)])
def test_a_builder_in_slices_pauses_and_builds_the_same(count: int, pauses: int) -> None:
    value = Lists([1], [Name("a")] * count)
    parts: list[bytes] = []
    slowly = MessageBuilderWriter(1, flexible=True, in_slices=True).compile(Lists)
    assert len(list(slowly(value, parts, []))) == pauses
    assert [b"".join(parts)] == built(value, 1, flexible=True)


def test_bytes_are_compared_with_nothing_else() -> None:
    """Python may be told (-bb) to refuse it."""
    script = (
        "from kafkalite.wire.message_codec import build_body\n"
        "from kafkalite.wire.messages.produce import ProduceResponse\n"
        "build_body(ProduceResponse(), 9)"
    )
    command = [sys.executable, "-bb", "-c", script]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
