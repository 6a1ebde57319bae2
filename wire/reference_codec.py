"""The declared form of a message: one construct per struct and version.

This is what the protocol *is*; the generated parsers and builders (compile_parse.py,
compile_build.py) are only faster, must agree with it, and hand over to it whenever they meet
anything odd, so that it can say precisely what and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, TypeVar, cast

from construct import Construct

from kafkalite.wire.encodings import (
    COMPACT_LENGTH,
    INT32,
    VARINT,
    ChunkStream,
    Frame,
    form_of,
    read_length,
    take,
)
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation, WireError
from kafkalite.wire.fields import MAX_ELEMENTS, FieldType, InMemory, Records, int8
from kafkalite.wire.schema import Field, Kind, Shape, fields_of, message_of

T = TypeVar("T")

INT8 = form_of(int8, compact=False, nullable=False)


class ArrayOf(Construct):
    """A count and as many elements."""

    def __init__(self, element: Construct, *, compact: bool, nullable: bool) -> None:
        super().__init__()
        self.element = element
        self.count = COMPACT_LENGTH if compact else INT32
        self.nullable = nullable

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> list[Any] | None:
        # Every element takes a byte at least, so no count is believed that is above the bytes left.
        count = read_length(stream, self.count, nullable=self.nullable)
        if count is None:
            return None
        cast(Frame, stream).take_elements(count)
        values: list[Any] = []
        for index in range(count):
            try:
                values.append(self.element._parsereport(stream, context, path))
            except WireError as error:
                error.inside(f"[{index}]")
                raise
        return values

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        if obj is None and self.nullable:
            self.count.build_stream(-1, stream)
            return obj
        if not isinstance(obj, (list, tuple)):
            raise InvalidMessage(f"{obj!r} is not a list")
        values = cast("Sequence[Any]", obj)
        self.count.build_stream(len(values), stream)
        for index, value in enumerate(values):
            try:
                self.element._build(value, stream, context, path)
            except WireError as error:
                error.inside(f"[{index}]")
                raise
        return values


class Nullable(Construct):
    """A struct behind a byte that says whether there is one: not if it is -1, or 0 in a tagged
    field.

    Kafka's code generator (MessageDataGenerator) differs so between the two.
    """

    def __init__(self, struct_: Construct, *, tagged: bool) -> None:
        super().__init__()
        self.struct = struct_
        self.highest_null = 0 if tagged else -1

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        if INT8.parse_stream(stream) <= self.highest_null:
            return None
        return self.struct._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        INT8.build_stream(self.highest_null if obj is None else 1, stream)
        if obj is not None:
            self.struct._build(obj, stream, context, path)
        return obj


class StructOf(Construct):
    """A declared struct in one version: its fields, and in flexible versions its tag section."""

    def __init__(self, class_: type[Any], version: int, *, flexible: bool) -> None:
        super().__init__()
        self.class_ = class_
        self.version = version
        self.flexible = flexible
        self.absent = [
            field for field in fields_of(class_) if not field.is_in(version) and not field.ignorable
        ]
        present = [field for field in fields_of(class_) if field.is_in(version)]
        forms = [(field, _construct(field, version, flexible)) for field in present]
        self.fields = [(field, form) for field, form in forms if field.tag is None]
        self.tagged = {field.tag: (field, form) for field, form in forms if field.tag is not None}

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        value = self.class_()
        for field, form in self.fields:
            setattr(value, field.name, _parse_field(field, form, stream, context))
        if self.flexible:
            self._parse_tags(value, stream, context)
        return value

    def _parse_tags(self, value: Any, stream: BinaryIO, context: Any) -> None:
        unknown: list[tuple[int, bytes]] = []
        for _ in range(VARINT.parse_stream(stream)):
            tag, size = VARINT.parse_stream(stream), VARINT.parse_stream(stream)
            cast(Frame, stream).take_elements(1)
            if tag not in self.tagged:
                unknown.append((tag, take(stream, size)))
                continue
            field, form = self.tagged[tag]
            start = stream.tell()
            setattr(value, field.name, _parse_field(field, form, stream, context))
            if stream.tell() != start + size:
                reason = f"tag {tag} has {stream.tell() - start} bytes, not {size} as it says"
                raise ProtocolViolation(reason, field_path=field.name, position=start)
        value.unknown_tagged_fields = tuple(unknown)

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        if not isinstance(obj, self.class_):
            raise InvalidMessage(f"{obj!r} is no {self.class_.__name__}")
        for field in self.absent:
            value = getattr(obj, field.name)
            if value != field.make_default():
                reason = (
                    f"{value!r} would be lost, as version {self.version} does not have the field"
                )
                raise InvalidMessage(reason, field_path=field.name)
        for field, form in self.fields:
            _build_field(field, form, getattr(obj, field.name), stream, context)
        if self.flexible:
            self._build_tags(obj, stream, context)
        return obj

    def _build_tags(self, obj: Any, stream: BinaryIO, context: Any) -> None:
        """A tagged field at its default is not written; tags stand in ascending order (KIP-482)."""
        tags: dict[int, bytes] = dict(obj.unknown_tagged_fields)
        for tag, (field, form) in self.tagged.items():
            value = getattr(obj, field.name)
            if value != field.make_default():
                buffer = ChunkStream()
                _build_field(field, form, value, buffer, context)
                tags[tag] = buffer.getvalue()
        VARINT.build_stream(len(tags), stream)
        for tag, encoded in sorted(tags.items()):
            VARINT.build_stream(tag, stream)
            VARINT.build_stream(len(encoded), stream)
            stream.write(encoded)


def _parse_field(field: Field, form: Construct, stream: BinaryIO, context: Any) -> Any:
    try:
        return form._parsereport(stream, context, field.name)
    except WireError as error:
        error.inside(field.name)
        raise


def _build_field(field: Field, form: Construct, value: Any, stream: BinaryIO, context: Any) -> None:
    try:
        form._build(value, stream, context, field.name)
    except WireError as error:
        error.inside(field.name)
        raise


def _construct(field: Field, version: int, flexible: bool) -> Construct:
    nullable = field.nullable_in(version)
    if isinstance(field.element, FieldType):
        is_array = field.shape is Shape.ARRAY
        form = form_of(field.element, compact=flexible, nullable=nullable and not is_array)
    else:
        form = struct_of(field.element, version, flexible)
        if nullable and field.shape is Shape.ONE:
            return Nullable(form, tagged=field.tag is not None)
    if field.shape is Shape.ARRAY:
        return ArrayOf(form, compact=flexible, nullable=nullable)
    return form


_structs: dict[tuple[type[Any], int, bool], StructOf] = {}


def struct_of(class_: type[Any], version: int, flexible: bool) -> StructOf:
    """The construct of a declared struct in one version of its message."""
    found = _structs.get((class_, version, flexible))
    if found is None:
        found = _structs[class_, version, flexible] = StructOf(class_, version, flexible=flexible)
    return found


def parse_declared(
    class_: type[T],
    version: int,
    buffer: InMemory,
    position: int = 0,
    *,
    whole: bool = True,
) -> tuple[T, int]:
    """A message that begins at `position`, and where it ends; not `whole`: bytes may follow it.

    Raises ProtocolViolation.
    """
    is_request = message_of(class_).kind is Kind.REQUEST
    stream = Frame(buffer, position, MAX_ELEMENTS if is_request else None)
    flexible = message_of(class_).is_flexible(version)
    try:
        value: T = struct_of(class_, version, flexible).parse_stream(cast(BinaryIO, stream))
        if whole and stream.tell() < len(buffer):
            left = len(buffer) - stream.tell()
            raise ProtocolViolation(f"{left} bytes left over", position=stream.tell())
    except WireError as error:
        error.inside(class_.__name__)
        raise
    return value, stream.tell()


def build_declared(value: object, version: int) -> list[Records]:
    """The chunks of an encoded message; raises InvalidMessage."""
    stream = ChunkStream()
    flexible = message_of(type(value)).is_flexible(version)
    try:
        struct_of(type(value), version, flexible).build_stream(value, stream)
    except WireError as error:
        error.inside(type(value).__name__)
        raise
    stream.end_chunk()
    return stream.chunks
