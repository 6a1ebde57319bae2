"""Types of fields: their defaults, their names, and the unsigned varint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.wire import fields
from kafkalite.wire.fields import NO_UUID, FieldType, unsigned_varint
from kafkalite.wire.parse_support import varint

TYPES = {name: each for name, each in vars(fields).items() if isinstance(each, FieldType)}


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_an_unsigned_varint_is_seven_bits_a_byte_the_low_ones_first(
    value: int, encoded: str
) -> None:
    assert unsigned_varint(value).hex() == encoded


@given(st.integers(0, 2**32 - 1))
def test_what_is_written_is_what_a_parser_reads(value: int) -> None:
    encoded = unsigned_varint(value)
    assert varint(encoded, 0) == (value, len(encoded))


@pytest.mark.parametrize("name", TYPES)
def test_the_default_of_a_nullable_type_is_null_and_that_of_others_is_not(name: str) -> None:
    type_ = TYPES[name]
    assert (type_.default is None) == type_.nullable
    assert repr(type_) == f"{'nullable ' * type_.nullable}{type_.name}"


def test_defaults_are_kafkas_zeros() -> None:
    zeros = {each.name: each.default for each in TYPES.values() if not each.nullable}
    assert zeros == {
        **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), 0),
        "bool": False,
        "float64": 0.0,
        "uuid": NO_UUID,
        "string": "",
        "bytes": b"",
        "records": b"",
    }
