"""Values without a field in a version are refused or left out here where they are in Kafka.

For every field that some version of its message lacks, a message in which it alone is not at its
default is written in a version that has it, read by Kafka, and written by both in one that has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from conformance.harness.messages import every_message
from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.wire.errors import InvalidMessage
from kafkalite.wire.fields import FieldType
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.schema import Field, Shape, fields_of, message_of

Case = tuple[type[Any], tuple[Field, ...], int, int]


def losses() -> Iterator[Case]:
    """Messages, the way to a field, a version that has it, and the nearest ones that have not."""
    for class_ in every_message():
        message = message_of(class_)
        versions = range(message.min_version, message.max_version + 1)
        for path in paths(class_, ()):
            having = [version for version in versions if all(each.is_in(version) for each in path)]
            around = {having[0] - 1, having[-1] + 1} & set(versions) if having else set[int]()
            for version in sorted(around):
                having_next = having[0] if version < having[0] else having[-1]
                if all(each.is_in(version) for each in path[:-1]):
                    yield class_, path, having_next, version


def paths(class_: type[Any], way: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    for field in fields_of(class_):
        yield (*way, field)
        if not isinstance(field.element, FieldType):
            yield from paths(field.element, (*way, field))


def name_of(case: Case) -> str:
    class_, path, having, lacking = case
    return f"{class_.__name__}-{'.'.join(field.name for field in path)}-{having}-{lacking}"


def with_one_value(class_: type[Any], path: tuple[Field, ...], version: int) -> Any:
    """A message in which the field at the end of the path is not at its default, but all else
    is."""
    value = class_()
    field, rest = path[0], path[1:]
    if isinstance(field.element, FieldType):
        made = unusual(field)
    else:
        made = with_one_value(field.element, rest, version) if rest else somewhere(field, version)
    setattr(value, field.name, [made] if field.shape is Shape.ARRAY else made)
    return value


def somewhere(field: Field, version: int) -> Any:
    """A struct with a value in it, if it is not its being there that counts."""
    assert not isinstance(field.element, FieldType)
    if field.shape is Shape.ARRAY or field.default is None:
        return field.element()
    first = next(each for each in fields_of(field.element) if each.is_in(version))
    return with_one_value(field.element, (first,), version)


def unusual(field: Field) -> Any:
    assert isinstance(field.element, FieldType)
    name = field.element.name
    if name == "bool":
        return not field.default
    if name == "uuid":
        return UUID(int=7)
    if name == "string":
        return "x"
    return b"x" if name in ("bytes", "records") else 7


@pytest.mark.parametrize("case", list(losses()), ids=name_of)
def test_what_would_be_lost(kafka: Referee, case: Case) -> None:
    class_, path, having, lacking = case
    data = join(build_body(with_one_value(class_, path, having), having))
    value = parse_body(class_, having, data)
    theirs = written_by(kafka, class_.__name__, having, data, lacking)
    if theirs is None:
        with pytest.raises(InvalidMessage, match=path[-1].name):
            build_body(value, lacking)
    else:
        assert join(build_body(value, lacking)) == theirs


def written_by(kafka: Referee, name: str, having: int, data: bytes, lacking: int) -> bytes | None:
    """None where Kafka refuses to write a field that would be lost."""
    try:
        return kafka.rewrite(name, having, data, lacking)
    except RefereeRefuses as error:
        if "UnsupportedVersionException" not in str(error):
            raise
        return None
