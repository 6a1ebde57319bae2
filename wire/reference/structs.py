"""Structs, arrays and tag sections: the declarations, walked."""

from __future__ import annotations

from typing import Any, BinaryIO, Final, cast

import construct
from construct import Construct, this

from kafkalite.wire.errors import InvalidMessage, ProtocolViolation, WireError
from kafkalite.wire.fields import FieldType
from kafkalite.wire.parse_support import MAX_INT32
from kafkalite.wire.reference.streams import ChunkStream
from kafkalite.wire.reference.values import COMPACT_LENGTH, INT8, INT32, VARINT, sized, value_of
from kafkalite.wire.schema import UNKNOWN, Field, Shape, fields_of


class Named(construct.Subconstruct):
    """The one adapter for errors: puts the name of a field, or an index, in front of their path."""

    def __init__(self, subcon: Construct, name: str | None) -> None:
        super().__init__(subcon)
        self.place = name  # None: the element's index

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        try:
            return self.subcon._parsereport(stream, context, path)
        except WireError as error:
            error.inside(self.place or f"[{context._index}]")
            raise

    def _build(self, obj: Any, stream: BinaryIO, context: Any, path: str) -> Any:
        try:
            return self.subcon._build(obj, stream, context, path)
        except WireError as error:
            error.inside(self.place or f"[{context._index}]")
            raise


class Elements(construct.Adapter):
    """A list of Python's own for construct's."""

    def _decode(self, obj: Any, context: Any, path: str) -> list[Any] | None:
        return None if obj is None else list(obj)

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        if obj is not None and not isinstance(obj, (list, tuple)):
            raise InvalidMessage(f"{obj!r} is not a list")
        return cast(Any, obj)


class Nullable(construct.Adapter):
    """A struct that may be null, after a byte that says so: -1, or 0 in a tagged field.

    Kafka's code generator (MessageDataGenerator) makes this difference.
    """

    def __init__(self, struct_: Construct, *, tagged: bool) -> None:
        null = 0 if tagged else -1
        mark = construct.Rebuild(INT8, lambda context: null if context.content is None else 1)
        content = construct.If(this.mark > null, struct_)
        super().__init__(construct.FocusedSeq("content", "mark" / mark, "content" / content))

    def _decode(self, obj: Any, context: Any, path: str) -> Any:
        return obj

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        return obj


class TagCount(construct.Adapter):
    """The count of a tag section. Java reads an int: a negative one is no tags."""

    def _decode(self, obj: int, context: Any, path: str) -> int:
        return obj if obj <= MAX_INT32 else 0

    def _encode(self, obj: int, context: Any, path: str) -> int:
        return obj


# A tag section: tag, where its bytes begin, and the bytes.
TAGS: Final = construct.PrefixedArray(
    TagCount(VARINT),
    construct.Struct(
        "tag" / VARINT,
        "size" / construct.Rebuild(VARINT, lambda context: len(context.data)),
        "start" / construct.Tell,
        "data" / construct.FocusedSeq("bytes", "bytes" / construct.Bytes(this._.size)),
    ),
)


class StructOf(construct.Adapter):
    """A declared struct in one version: its fields, and in flexible versions its tag section."""

    def __init__(self, class_: type[Any], version: int, *, flexible: bool) -> None:
        self.class_ = class_
        self.version = version
        self.flexible = flexible
        fields = fields_of(class_)
        present = [field for field in fields if field.is_in(version)]
        self.absent = [f for f in fields if not f.is_in(version) and not f.ignorable]
        self.plain = [field for field in present if field.tag is None]
        self.tagged = {
            field.tag: (field, _part(field, version, flexible))
            for field in present
            if field.tag is not None
        }
        parts = [
            field.name / Named(_part(field, version, flexible), field.name) for field in self.plain
        ]
        if flexible:
            parts.append(UNKNOWN / TagSection(TAGS))
        super().__init__(construct.Struct(*parts))

    def _decode(self, obj: Any, context: Any, path: str) -> Any:
        value = self.class_(**{field.name: obj[field.name] for field in self.plain})
        unknown: list[tuple[int, bytes]] = []
        for each in obj[UNKNOWN] if self.flexible else ():
            if each.tag not in self.tagged:
                unknown.append((each.tag, each.data))
                continue
            field, part = self.tagged[each.tag]
            setattr(value, field.name, _parse_tag(field, part, each))
        value.unknown_tagged_fields = tuple(unknown)
        return value

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, self.class_):
            raise InvalidMessage(f"{obj!r} is no {self.class_.__name__}")
        for field in self.absent:
            value = getattr(obj, field.name)
            if value != field.make_default():
                reason = (
                    f"{value!r} would be lost, as version {self.version} does not have the field"
                )
                raise InvalidMessage(reason, field_path=field.name)
        values = {field.name: getattr(obj, field.name) for field in self.plain}
        if self.flexible:
            values[UNKNOWN] = self._tags(obj)
        return values

    def _tags(self, obj: Any) -> list[dict[str, Any]]:
        """A tagged field at its default is not written; tags stand in ascending order (KIP-482)."""
        tags: dict[int, bytes] = dict(obj.unknown_tagged_fields)
        for tag, (field, part) in self.tagged.items():
            value = getattr(obj, field.name)
            if value != field.make_default():
                stream = ChunkStream()
                Named(part, field.name).build_stream(value, stream)
                tags[tag] = stream.getvalue()
        return [{"tag": tag, "data": data} for tag, data in sorted(tags.items())]


class TagSection(construct.Subconstruct):
    """Construct's array of tags, with our words for one that is cut short."""

    def _parse(self, stream: BinaryIO, context: Any, path: str) -> Any:
        try:
            return self.subcon._parsereport(stream, context, path)
        except construct.StreamError:
            reason = "a tagged field is longer than what is left"
            raise ProtocolViolation(reason, position=stream.tell()) from None


def _parse_tag(field: Field, part: Construct, tag: Any) -> Any:
    try:
        whole = construct.Struct("value" / part, "end" / construct.Tell).parse(tag.data)
    except WireError as error:
        error.inside(field.name)
        error.position += tag.start
        if error.reason.endswith(" left"):
            error.reason = f"tag {tag.tag} has {tag.size} bytes as it says: {error.reason}"
        raise
    if whole.end != tag.size:
        reason = f"tag {tag.tag} has {whole.end} bytes, not {tag.size} as it says"
        raise ProtocolViolation(reason, field_path=field.name, position=tag.start)
    return whole.value


def _part(field: Field, version: int, flexible: bool) -> Construct:
    nullable = field.nullable_in(version)
    if isinstance(field.element, FieldType):
        is_array = field.shape is Shape.ARRAY
        part = value_of(field.element, compact=flexible, nullable=nullable and not is_array)
    else:
        part = struct_of(field.element, version, flexible)
        if nullable and field.shape is Shape.ONE:
            return Nullable(part, tagged=field.tag is not None)
    if field.shape is Shape.ARRAY:
        length = COMPACT_LENGTH if flexible else INT32
        # Every element takes a byte at least, so no count is believed that is above the bytes left.
        elements = construct.Array(this.size, Named(part, None))
        return Elements(sized(length, elements, nullable=nullable))
    return part


_structs: dict[tuple[type[Any], int, bool], StructOf] = {}


def struct_of(class_: type[Any], version: int, flexible: bool) -> StructOf:
    """The construct of a declared struct in one version of its message."""
    found = _structs.get((class_, version, flexible))
    if found is None:
        found = _structs[class_, version, flexible] = StructOf(class_, version, flexible=flexible)
    return found
