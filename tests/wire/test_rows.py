"""Rows say what messages say: for every message of an API that is served as rows, in every version.

The rows of a frame are the message of the frame, field by field, sound or broken; a response built
of rows is the response built of the message, byte by byte.
"""

from __future__ import annotations

import functools
import importlib
import operator
import typing
from random import Random
from types import UnionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.harness.messages import every_version, few, instances, name_of
from conformance.harness.random_messages import broken, random_message
from kafkalite.apis import APIS
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.codec import encode_request
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.message_codec import join
from kafkalite.wire.rows import message_of_row, rows_of
from kafkalite.wire.schema import Field, Kind, Shape, fields_of, message_of

HOT = frozenset(api.key for api in APIS.values() if api.rows)

BROKEN_FRAMES = 60  # of each request in each version


def hot(kind: Kind) -> list[tuple[type[Any], int]]:
    return [
        case
        for case in every_version()
        if message_of(case[0]).kind is kind and message_of(case[0]).key in HOT
    ]


def parsed(key: int, version: int, frame: Any, *, rows: bool) -> Any:
    """Client id and body, as a row; or what is wrong with the frame."""
    try:
        client_id, body = codec_of(key, version, rows=rows).parse(
            frame, int.from_bytes(frame[8:10], "big", signed=True)
        )
    except ProtocolViolation as error:
        return str(error)
    return client_id, body if rows else rows_of(body)


@pytest.mark.parametrize("case", hot(Kind.REQUEST), ids=name_of)
@few
@given(data=st.data())
def test_a_request_s_rows_are_its_message(case: tuple[type[Any], int], data: st.DataObject) -> None:
    class_, version = case
    message = message_of(class_)
    body = data.draw(instances(class_, version, message.is_flexible(version)))
    frame = join(encode_request(message.key, version, 77, "me", body))[4:]
    for buffer in (frame, memoryview(frame)):
        assert parsed(message.key, version, buffer, rows=True) == ("me", rows_of(body))


@pytest.mark.parametrize("case", hot(Kind.REQUEST), ids=name_of)
def test_a_broken_request_is_read_alike(case: tuple[type[Any], int]) -> None:
    class_, version = case
    key = message_of(class_).key
    random = Random(f"{name_of(case)}")
    for _ in range(BROKEN_FRAMES):
        body = random_message(random, class_, version)
        whole = join(encode_request(key, version, 7, "me", body))[4:]
        frame = broken(random, whole, whole)
        if len(frame) < 10:
            continue
        assert parsed(key, version, frame, rows=True) == parsed(key, version, frame, rows=False)


@pytest.mark.parametrize("case", hot(Kind.RESPONSE), ids=name_of)
@few
@given(data=st.data())
def test_a_response_of_rows_is_that_of_the_message(
    case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    key = message_of(class_).key
    body = data.draw(instances(class_, version))
    row = rows_of(body)
    built = codec_of(key, version, rows=True).build(7, row)
    assert built == codec_of(key, version).build(7, body)
    assert message_of_row(class_, row) == body


@pytest.mark.parametrize("case", hot(Kind.RESPONSE), ids=name_of)
@few
@given(data=st.data())
def test_what_a_version_would_lose_is_refused_alike(
    case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    key, last = message_of(class_).key, message_of(class_).max_version
    body = data.draw(instances(class_, last))  # with fields that older versions do not have

    def built(response: Any, *, rows: bool) -> Any:
        try:
            return codec_of(key, version, rows=rows).build(7, response)
        except InvalidMessage as error:
            return str(error)

    assert built(rows_of(body), rows=True) == built(body, rows=False)


@pytest.mark.parametrize("key", sorted(HOT))
@pytest.mark.parametrize("class_of", [request_class, response_class])
def test_the_types_of_rows_are_those_of_the_declaration(key: int, class_of: Any) -> None:
    class_ = class_of(key)
    module: dict[str, Any] = vars(importlib.import_module(class_.__module__))
    checked = check_row(class_, module)
    assert checked


def check_row(class_: type[Any], module: dict[str, Any]) -> bool:
    """Compare `<Class>Row` with the fields of the class, and so on inwards."""
    declared = typing.get_type_hints(class_, module)
    row = module[f"{class_.__name__}Row"]
    fields = fields_of(class_)
    types = typing.get_args(row)
    assert len(types) == len(fields), f"{class_.__name__}Row"
    for field, type_ in zip(fields, types, strict=True):
        inner = declared[field.name]
        assert has_none(type_) == has_none(inner), f"{class_.__name__}.{field.name}"
        check_field(field, without_none(type_), without_none(inner), module)
    return True


def check_field(field: Field, type_: Any, declared: Any, module: dict[str, Any]) -> None:
    if field.shape is Shape.ARRAY:
        (type_,) = typing.get_args(type_)
        (declared,) = typing.get_args(declared)
    if isinstance(field.element, type):
        assert type_ == module[f"{field.element.__name__}Row"], field.name
        check_row(field.element, module)
    else:
        assert type_ == declared, field.name


def has_none(type_: Any) -> bool:
    return type(None) in typing.get_args(type_) and typing.get_origin(type_) in (
        UnionType,
        typing.Union,
    )


def without_none(type_: Any) -> Any:
    if not has_none(type_):
        return type_
    rest = [each for each in typing.get_args(type_) if each is not type(None)]
    return functools.reduce(operator.or_, rest)
