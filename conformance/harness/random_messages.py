"""Random messages and broken frames, fast and from a seed: for fuzzing, where Hypothesis is too
slow."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

from kafkalite.wire.compile_source import FEW, format_of_numbers
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import Field, Shape, fields_of

BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED_BITS: Final = {"uint16": 16, "uint32": 32}
# Bad values of a length, a count or a varint.
EVIL: Final = (
    *(b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff"),
    *(b"\xff\xff", b"\x7f\xff", b"\x80\x00", b"\x00\x00", b"\xff\xfe"),
    *(b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\xff\xff"),
    *(b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x80\x80", b"\x80\x01"),
)


def random_message(random: Random, class_: type[Any], version: int) -> Any:
    """An instance of a declared struct with small random values."""
    value = class_()
    for field in fields_of(class_):
        if field.is_in(version) and (field.tag is None or random.random() < 0.5):
            setattr(value, field.name, _random_field(random, field, version))
    return value


def _random_field(random: Random, field: Field, version: int) -> Any:
    if field.nullable_in(version) and random.random() < 0.2:
        return None
    if field.shape is Shape.ARRAY:
        # Many structs of numbers are read and written at once.
        are_numbers = not isinstance(field.element, FieldType) and format_of_numbers(
            field.element, version
        )
        count = random.choice((0, 1, 2, FEW - 1, FEW, 20) if are_numbers else (0, 1, 1, 2, 5))
        return [_random_element(random, field.element, version) for _ in range(count)]
    return _random_element(random, field.element, version)


def _random_element(random: Random, element: FieldType[Any] | type[Any], version: int) -> Any:
    if not isinstance(element, FieldType):
        return random_message(random, element, version)
    name = element.name
    if name in BITS:
        return random.choice((0, -1, random.getrandbits(BITS[name] - 1)))
    if name in UNSIGNED_BITS:
        return random.getrandbits(UNSIGNED_BITS[name])
    if name == "bool":
        return random.random() < 0.5
    if name == "float64":
        return random.random()
    if name == "uuid":
        return UUID(int=random.getrandbits(128))
    data = random.randbytes(random.choice((0, 1, 9, 9, 130)))
    return data.hex() if name == "string" else data


def broken(random: Random, frame: bytes, other: bytes) -> bytes:
    """The frame after one to four accidents, some of them with a piece of another one."""
    damaged = bytearray(frame)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        start = random.randrange(len(damaged) + 1)
        stop = min(len(damaged), start + random.choice((0, 1, 2, 4, 8, 30)))
        match random.randrange(6):
            case 0 if start < len(damaged):
                damaged[start] ^= 1 << random.randrange(8)
            case 1:
                del damaged[start:]
            case 2:
                del damaged[start:stop]
            case 3:
                damaged[start:start] = damaged[start:stop]
            case 4:
                piece = random.randrange(len(other) + 1)
                damaged[start:stop] = other[piece : piece + random.choice((1, 4, 40))]
            case _:
                evil = random.choice(EVIL)
                damaged[start : start + random.choice((0, len(evil)))] = evil
    return bytes(damaged)
