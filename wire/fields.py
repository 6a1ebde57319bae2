"""The types a field can have on the wire, each as a construct.

Kafka writes strings, bytes and arrays in two ways. In the older *plain* form a length is an int16 or
int32, and -1 says null. In *flexible* versions (KIP-482) the length is an unsigned varint one
larger than the length, so that 0 says null. A `FieldType` knows both, and what it is in Python.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")

NO_UUID = UUID(int=0)


class Chunk(Protocol):
    """Bytes that lie elsewhere (in a file, say): only their length is needed to frame them."""

    def __len__(self) -> int: ...


InMemory: TypeAlias = bytes | memoryview
Records: TypeAlias = bytes | memoryview | Chunk


class FieldType(Generic[T]):
    """A type of the protocol, `name` being Kafka's word for it."""

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
# Record batches are never copied: decoded they are a view into the frame, encoded a chunk of its own.
records: FieldType[InMemory | None] = FieldType("records", None, nullable=True)
records_chunk: FieldType[Records | None] = FieldType("records", None, nullable=True)

AnyFieldType: TypeAlias = FieldType[Any]
