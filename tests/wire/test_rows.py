"""Rows: the shape of a struct as a tuple, there and back, and their types."""

from __future__ import annotations

import functools
import importlib
import operator
import typing
from types import UnionType
from typing import Any

import pytest

from kafkalite.apis import APIS
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
)
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.rows import (
    LargeResponse,
    SharedResponse,
    default_row,
    message_of_row,
    row_of,
    rows_of,
)
from kafkalite.wire.schema import Field, Shape, fields_of

HOT = frozenset(api.key for api in APIS.values() if api.rows)

PRODUCE = ProduceRequest(
    "x", -1, 30, [TopicProduceData("t", partition_data=[PartitionProduceData(3, b"r")])]
)
ROW = ("x", -1, 30, [("t", NO_UUID, [(3, b"r")])])


def test_a_row_is_all_fields_in_the_order_of_the_declaration() -> None:
    assert rows_of(PRODUCE) == ROW
    assert message_of_row(ProduceRequest, ROW) == PRODUCE


def test_null_stays_null() -> None:
    assert rows_of(MetadataRequest(None))[0] is None
    assert message_of_row(MetadataRequest, rows_of(MetadataRequest(None))) == MetadataRequest(None)


def test_a_row_and_its_message_share_no_list() -> None:
    request = MetadataRequest([MetadataRequestTopic(name="a")])
    row = rows_of(request)
    assert request.topics is not None
    request.topics.clear()
    assert row[0] == [(NO_UUID, "a")]
    partition = MetadataResponsePartition(replica_nodes=[1, 2])
    row = rows_of(partition)
    partition.replica_nodes.clear()
    assert [1, 2] in row


@pytest.mark.parametrize("row", [ROW[:-1], (*ROW, 5)])
def test_a_row_with_another_number_of_fields_is_refused(row: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="argument"):
        message_of_row(ProduceRequest, row)


@pytest.mark.parametrize("key", sorted(HOT))
def test_a_default_row_is_the_row_of_a_default_message(key: int) -> None:
    for class_ in (request_class(key), response_class(key)):
        assert default_row(class_) == rows_of(class_())


def test_what_a_handler_returned_is_a_row_in_any_wrapping() -> None:
    assert row_of(ROW) is ROW
    assert row_of(PRODUCE) is PRODUCE
    assert row_of(SharedResponse(ROW)) is ROW
    assert row_of(LargeResponse(ROW)) is ROW


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
