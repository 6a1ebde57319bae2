"""Declarations of messages: a dataclass whose fields say how they lie on the wire.

    @request(ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
    class HeartbeatRequest:
        group_id: str = field(string)
        generation_id: int = field(int32)
        member_id: str = field(string)
        group_instance_id: str | None = field(nullable_string, since=3)

The order of the fields is their order on the wire. `since` and `until` are the first and the last
version that has the field. In every other version it has its default: that of its type, unless one
is given. A message with another value is not sent in such a version, as the other side would never
learn of it. An `ignorable` field is left out instead, by Kafka's own list of such fields. `tag`
makes it a tagged field (KIP-482). A `sensitive` field holds a password, a key or a token, or may:
it is sent and stored, and never shown.

Everything else is derived: generated parsers and builders (compile_messages.py, compile_rows.py),
and the reference codec. Tagged fields that are not declared are kept, and written back:
`unknown_tagged_fields`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeVar, cast, dataclass_transform

from msgspec import Struct
from msgspec.structs import replace

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import FieldType

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])

FIELDS: Final = "__wire_fields__"
MESSAGE: Final = "__wire_message__"
UNKNOWN: Final = "unknown_tagged_fields"
LAST_VERSION: Final = 0x7FFF


class Shape(Enum):
    ONE = "one"
    ARRAY = "array"


class Field(Struct, frozen=True):
    """One field: its `element` is a FieldType or a struct's class."""

    name: str
    element: FieldType[Any] | type[Any]
    shape: Shape
    since: int
    until: int
    nullable_since: int | None
    tag: int | None
    default: Any
    ignorable: bool
    sensitive: bool = False

    def is_in(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable_in(self, version: int) -> bool:
        return self.nullable_since is not None and version >= self.nullable_since

    def make_default(self) -> Any:
        """A value of its own: lists and structs must not be shared between messages."""
        if isinstance(self.default, list):
            return []
        return self.default() if isinstance(self.default, type) else self.default


class Kind(Enum):
    """The kind of a message, which decides what stands before its body."""

    REQUEST = "request"
    RESPONSE = "response"
    RECORD_KEY = "record key"
    RECORD_VALUE = "record value"
    METADATA_RECORD = "metadata record"
    DATA = "data"
    VERSIONED = "data that begins with its version"


class Message(Struct, frozen=True):
    """A whole message; `key` is its ApiKey or, for records, the record type."""

    kind: Kind
    key: int
    min_version: int
    max_version: int
    flexible_since: int | None

    def is_flexible(self, version: int) -> bool:
        return self.flexible_since is not None and version >= self.flexible_since


_UNSET: Any = object()


def field(
    type_: FieldType[T],
    *,
    since: int = 0,
    until: int = LAST_VERSION,
    nullable_since: int = 0,
    tag: int | None = None,
    default: T = _UNSET,
    ignorable: bool = False,
    sensitive: bool = False,
) -> T:
    """A field of a plain type. A nullable one may be null only from `nullable_since` on."""
    null = nullable_since if type_.nullable else None
    value = type_.default if default is _UNSET else default
    declared = Shape.ONE, since, until, null, tag, value, ignorable, sensitive
    return cast(T, Field("", type_, *declared))


def array(
    element: FieldType[T] | type[T],
    *,
    since: int = 0,
    until: int = LAST_VERSION,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T]:
    """A field holding a list, empty unless given."""
    declared = Field("", element, Shape.ARRAY, since, until, None, tag, [], ignorable)
    return cast("list[T]", declared)


def nullable_array(
    element: FieldType[T] | type[T],
    *,
    since: int = 0,
    until: int = LAST_VERSION,
    nullable_since: int = 0,
    tag: int | None = None,
    default: list[T] | None = None,
    ignorable: bool = False,
) -> list[T] | None:
    """A list that may be null from `nullable_since` on."""
    shape = Shape.ARRAY
    declared = Field("", element, shape, since, until, nullable_since, tag, default, ignorable)
    return cast("list[T] | None", declared)


def nested(struct_: type[T], *, since: int = 0, tag: int | None = None) -> T:
    """A struct within a struct; unless given, one with all its fields at their defaults."""
    declared = Field("", struct_, Shape.ONE, since, LAST_VERSION, None, tag, struct_, False)
    return cast(T, declared)


def nullable_nested(
    struct_: type[T], *, since: int = 0, tag: int | None = None, null_by_default: bool = True
) -> T | None:
    """A struct that may be missing; a byte before it says so."""
    default = None if null_by_default else struct_
    declared = Field("", struct_, Shape.ONE, since, LAST_VERSION, since, tag, default, False)
    return cast("T | None", declared)


@dataclass_transform()
def struct(class_: type[T]) -> type[T]:
    """Makes a slotted dataclass of a class whose fields are declared as above."""
    return _make_struct(class_, None)


def _make_struct(class_: type[T], message: Message | None) -> type[T]:
    fields: list[Field] = []
    for name in list(class_.__annotations__):
        declared = class_.__dict__.get(name)
        assert isinstance(declared, Field), f"{class_.__name__}.{name} is not declared as a field"
        declared = replace(declared, name=name)
        fields.append(declared)
        default = declared.default
        if isinstance(default, (list, type)):
            setattr(class_, name, dataclasses.field(default_factory=declared.make_default))
        else:
            setattr(class_, name, default)
    class_.__annotations__[UNKNOWN] = "tuple[tuple[int, bytes], ...]"
    setattr(class_, UNKNOWN, dataclasses.field(default=(), repr=False, kw_only=True))
    # Nothing is compiled for a struct here, no docstring that dataclasses makes of a signature
    # either: that would be a third of the CPU time of the broker's import.
    class_.__doc__ = class_.__doc__ or class_.__name__
    shared = {"__init__": _first_init, "__repr__": _representation, "__eq__": _is_equal}
    for name, function in shared.items():
        setattr(class_, name, function)
    made = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(class_)
    setattr(made, FIELDS, tuple(fields))
    if message is not None:
        setattr(made, MESSAGE, message)
    return made


def _first_init(self: Any, *values: Any, **named: Any) -> None:
    """The `__init__` of a struct that was not made yet; it compiles the one that stays."""
    made = self.__class__
    parameters: list[str] = []
    lines: list[str] = []
    names: dict[str, Any] = {"_UNSET": _UNSET}
    for each in dataclasses.fields(made):
        given = each.name
        if each.default is dataclasses.MISSING:
            names[f"default_{each.name}"] = each.default_factory
            parameters.append(f"{each.name}=_UNSET")
            given = f"default_{each.name}() if {each.name} is _UNSET else {each.name}"
        else:
            names[f"default_{each.name}"] = each.default
            parameters.append(f"{each.name}=default_{each.name}")
        lines.append(f"    self.{each.name} = {given}\n")
    *declared, unknown = parameters
    source = f"def __init__(self, {''.join(f'{each}, ' for each in declared)}*, {unknown}):\n"
    exec(source + "".join(lines), names)  # noqa: S102 - the source is made of our own declarations
    made.__init__ = names["__init__"]
    made.__init__(self, *values, **named)


def _representation(self: Any) -> str:
    fields = fields_of(self.__class__)
    hidden = {each.name for each in fields if each.sensitive}
    shown = (
        f"{name}={'[hidden]' if name in hidden else repr(getattr(self, name))}"
        for name in self.__match_args__
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _is_equal(self: Any, other: Any) -> object:
    if type(other) is not type(self):
        return NotImplemented
    names: tuple[str, ...] = self.__slots__
    return [getattr(self, name) for name in names] == [getattr(other, name) for name in names]


def _message(message: Message) -> Callable[[type[T]], type[T]]:
    def decorate(class_: type[T]) -> type[T]:
        return _make_struct(class_, message)

    return decorate


@dataclass_transform()
def request(
    api_key: ApiKey, *, versions: tuple[int, int], flexible: int | None
) -> Callable[[type[T]], type[T]]:
    """Declares an API's request. `flexible` is the first flexible version."""
    return _message(Message(Kind.REQUEST, api_key, *versions, flexible))


@dataclass_transform()
def response(
    api_key: ApiKey, *, versions: tuple[int, int], flexible: int | None
) -> Callable[[type[T]], type[T]]:
    """Declares an API's response."""
    return _message(Message(Kind.RESPONSE, api_key, *versions, flexible))


@dataclass_transform()
def record_key(record_type: int) -> Callable[[type[T]], type[T]]:
    """Declares the key of a coordinator's record: an int16 record type stands before it."""
    return _message(Message(Kind.RECORD_KEY, record_type, 0, 0, None))


@dataclass_transform()
def record_value(
    record_type: int, *, versions: tuple[int, int], flexible: int | None
) -> Callable[[type[T]], type[T]]:
    """Declares the value of a coordinator's record: an int16 version stands before it."""
    return _message(Message(Kind.RECORD_VALUE, record_type, *versions, flexible))


@dataclass_transform()
def metadata_record(record_type: int, *, versions: tuple[int, int]) -> Callable[[type[T]], type[T]]:
    """Declares a record of the metadata log (KRaft), which are flexible from the beginning."""
    return _message(Message(Kind.METADATA_RECORD, record_type, *versions, 0))


@dataclass_transform()
def data(*, versions: tuple[int, int], flexible: int | None) -> Callable[[type[T]], type[T]]:
    """Declares any other structure; its own docstring says what stands before it."""
    return _message(Message(Kind.DATA, -1, *versions, flexible))


@dataclass_transform()
def versioned(*, versions: tuple[int, int], flexible: int | None) -> Callable[[type[T]], type[T]]:
    """Declares a structure whose first field is its version: KRaft's control records."""
    return _message(Message(Kind.VERSIONED, -1, *versions, flexible))


def fields_of(struct_: type[object]) -> Sequence[Field]:
    """The declared fields, in their order on the wire."""
    return cast("Sequence[Field]", getattr(struct_, FIELDS))


class KeptRow(tuple[Any, ...]):
    """An element of a response's list as a row (rows.py) that is sent many times in one version.

    It is built once. Its struct has `has_kept_rows`.
    """

    encoded: bytes | None = None
    # True if no error code is in it.
    has_no_errors = False


def has_kept_rows(struct_: type[object]) -> bool:
    """True if rows of the struct may be KeptRows."""
    return bool(getattr(struct_, "has_kept_rows", False))


def message_of(class_: type[object]) -> Message:
    """Kind, key and versions of a message's class."""
    return cast(Message, getattr(class_, MESSAGE))


def unknown_tagged_fields(value: object) -> tuple[tuple[int, bytes], ...]:
    """The (tag, bytes) pairs that came with a struct and that we do not know, in order of tag."""
    return cast("tuple[tuple[int, bytes], ...]", getattr(value, UNKNOWN))
