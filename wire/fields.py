"""The types of fields, by Kafka's names. reference/values.py says how they lie on the wire."""

from __future__ import annotations

from typing import Final, Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")

NO_UUID: Final = UUID(int=0)
MAX_STRING_BYTES: Final = (
    0x7FFF  # an int16 in the plain form; Kafka keeps the limit in the compact one
)
# Python's objects for an array element of a few bytes take no more than this.
BYTES_OF_ELEMENT: Final = 192
# The most bytes of memory that text takes for each byte in the frame.
BYTES_OF_BYTE: Final = 4
# Array elements and tagged fields that a request may have in all: 100 MB of nothing but empty names
# would take gigabytes. A whole cluster of Kafka is made for about a million partitions; no client
# names more of anything at once, nor many thousands of things in fewer than 8 bytes each.
MAX_ELEMENTS: Final = 1_000_000
_FREE_ELEMENTS: Final = 32_768
_BYTES_OF_OTHERS: Final = 8
# A number takes a quarter of what an element with fields of its own takes.
NUMBERS_OF_ELEMENT: Final = 4


class Chunk(Protocol):
    """Bytes that lie elsewhere (in a file, say): only their length is needed to frame them."""

    def __len__(self) -> int: ...


InMemory: TypeAlias = bytes | memoryview
Records: TypeAlias = bytes | memoryview | Chunk


def most_elements(size: int) -> int:
    """The array elements and tagged fields that a request of so many bytes may have."""
    return min(MAX_ELEMENTS, _FREE_ELEMENTS + size // _BYTES_OF_OTHERS)


def most_memory(size: int) -> int:
    """The bytes that a request of so many bytes takes, parsed, at most."""
    return BYTES_OF_BYTE * size + BYTES_OF_ELEMENT * min(size, most_elements(size))


def unsigned_varint(value: int) -> bytes:
    """The number as Kafka's unsigned varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class FieldType(Generic[T]):
    """A type of the protocol, `name` being Kafka's word for it, and its default in Python."""

    __slots__ = ("default", "name", "nullable")

    def __init__(self, name: str, default: T, *, nullable: bool = False) -> None:
        self.name = name
        self.default = default
        self.nullable = nullable

    def __repr__(self) -> str:
        return f"nullable {self.name}" if self.nullable else self.name


boolean: FieldType[bool] = FieldType("bool", False)
int8: FieldType[int] = FieldType("int8", 0)
int16: FieldType[int] = FieldType("int16", 0)
uint16: FieldType[int] = FieldType("uint16", 0)
int32: FieldType[int] = FieldType("int32", 0)
uint32: FieldType[int] = FieldType("uint32", 0)
int64: FieldType[int] = FieldType("int64", 0)
float64: FieldType[float] = FieldType("float64", 0.0)
uuid: FieldType[UUID] = FieldType("uuid", NO_UUID)
string: FieldType[str] = FieldType("string", "")
nullable_string: FieldType[str | None] = FieldType("string", None, nullable=True)
bytes_: FieldType[bytes] = FieldType("bytes", b"")
nullable_bytes: FieldType[bytes | None] = FieldType("bytes", None, nullable=True)
# Two names of one type, for what can be in a message: a request's records were read from a socket,
# a response's may lie in a file.
records: FieldType[InMemory | None] = FieldType("records", None, nullable=True)
records_chunk: FieldType[Records | None] = FieldType("records", None, nullable=True)
required_records_chunk: FieldType[Records] = FieldType("records", b"")
# The client id of a request's header, which is plain in flexible versions too.
plain_nullable_string: FieldType[str | None] = FieldType("string", None, nullable=True)
