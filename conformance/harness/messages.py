"""Every declared message in every version, and Hypothesis strategies that make instances of
them."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import kafkalite.wire.messages
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import (
    MESSAGE,
    Field,
    Shape,
    fields_of,
    message_of,
    unknown_tagged_fields,
)

# For tests that go through every message and version. The examples are others at each run, and a
# failure is made as small as it can be. `make slow` asks for more: KAFKALITE_EXAMPLES.
EXAMPLES: Final = int(os.environ.get("KAFKALITE_EXAMPLES", "4"))
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# 0, 127 and 128 bytes are where a varint changes its size.
TEXT: Final = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "a" * 126, "b" * 127, "c" * 128, "\0", "ünïcode \U0001f600"]),
)
BYTES: Final = st.one_of(
    st.binary(max_size=6),
    st.sampled_from([b"", b"a" * 126, b"b" * 127, b"c" * 128, b"d" * 16384]),
)


def integers(bits: int, *, signed: bool = True) -> SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.one_of(st.sampled_from([0, 1, low, high]), st.integers(low, high))


VALUES: Final[dict[str, SearchStrategy[Any]]] = {
    "bool": st.booleans(),
    "int8": integers(8),
    "int16": integers(16),
    "uint16": integers(16, signed=False),
    "int32": integers(32),
    "uint32": integers(32, signed=False),
    "int64": integers(64),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.uuids(allow_nil=True),
    "string": TEXT,
    "bytes": BYTES,
    "records": BYTES,
}


def every_message() -> Iterator[type[Any]]:
    """The classes of all declared messages, in the order of their modules' names."""
    package = kafkalite.wire.messages
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if hasattr(value, MESSAGE) and value.__module__ == module.__name__:
                yield value


def every_version() -> list[tuple[type[Any], int]]:
    """Each message with each of its versions."""
    return [
        (class_, version)
        for class_ in every_message()
        for version in range(message_of(class_).min_version, message_of(class_).max_version + 1)
    ]


def fitting(value: Any, version: int) -> Any:
    """The message as far as a version has fields for it: one request can so be asked in every
    version."""
    kept: dict[str, Any] = {}
    class_: type[Any] = value.__class__
    for field in fields_of(class_):
        if field.is_in(version):
            held = getattr(value, field.name)
            if held is not None and not isinstance(field.element, FieldType):
                held = (
                    [fitting(each, version) for each in held]
                    if field.shape is Shape.ARRAY
                    else fitting(held, version)
                )
            kept[field.name] = held
    return class_(**kept, unknown_tagged_fields=unknown_tagged_fields(value))


def name_of(case: tuple[type[Any], int]) -> str:
    """The name of a test of one message in one version."""
    return f"{case[0].__name__}-{case[1]}"


_made: dict[tuple[type[Any], int, bool], SearchStrategy[Any]] = {}


def instances(class_: type[Any], version: int, unknown_tags: bool = False) -> SearchStrategy[Any]:
    """Instances of a struct: what the version does not have is at its default."""
    key = (class_, version, unknown_tags)
    if key not in _made:
        _made[key] = _instances(class_, version, unknown_tags)
    return _made[key]


def _instances(class_: type[Any], version: int, unknown_tags: bool) -> SearchStrategy[Any]:
    values = {
        field.name: _values(field, version, unknown_tags)
        for field in fields_of(class_)
        if field.is_in(version)
    }
    if unknown_tags:
        # far above the tags that are declared
        tags = st.dictionaries(st.integers(1000, 1 << 30), st.binary(max_size=4), max_size=2)
        values["unknown_tagged_fields"] = tags.map(lambda made: tuple(sorted(made.items())))
    return st.builds(class_, **values)


def _values(field: Field, version: int, unknown_tags: bool) -> SearchStrategy[Any]:
    if isinstance(field.element, FieldType):
        values = VALUES[field.element.name]
    else:
        values = instances(field.element, version, unknown_tags)
    if field.shape is Shape.ARRAY:
        values = st.lists(values, max_size=3)
    if field.nullable_in(version):
        values = st.one_of(st.none(), values)
    if field.tag is not None:
        values = st.one_of(st.builds(field.make_default), values)
    return values
