"""Data that names a schema, decoded, and all that may be wrong with it."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from kafkalite.schemas.decoding import Decoder, decoder_of, schema_id_of
from kafkalite.schemas.registry import Registry
from tests.kafkalite.schema_registry import SchemaRegistry

ITEM: dict[str, Any] = {
    "type": "record",
    "name": "shop.Item",
    "fields": [{"name": "sku", "type": "string"}],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "items", "type": {"type": "array", "items": "shop.Item"}},
    ],
}
VALUE = {"id": 5, "items": [{"sku": "A"}]}


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + data


def avro(value: object) -> bytes:
    named: dict[str, Any] = {}
    fastavro.parse_schema(ITEM, named_schemas=named)
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(ORDER, named_schemas=named), value)
    return target.getvalue()


@pytest.fixture
def decoder(registry: SchemaRegistry) -> Decoder:
    reference = {"name": "shop.Item", "subject": "item", "version": 2}
    registry.schemas[1] = {"schema": json.dumps(ORDER), "references": [reference]}
    registry.subjects["item", "2"] = {"schema": json.dumps(ITEM)}
    registry.schemas[2] = {"schema": '{"title": "Order"}', "schemaType": "JSON"}
    registry.schemas[3] = {"schema": "", "schemaType": "THRIFT"}
    registry.schemas[4] = {"schema": '"long"'}
    return Decoder(Registry(registry.url))


@pytest.mark.parametrize("data", [None, b"", b"\0\0\0\0", b"{}   ", b"\1\0\0\0\1x"])
def test_data_of_another_format_is_left_alone(decoder: Decoder, data: bytes | None) -> None:
    assert schema_id_of(data) is None
    assert decoder.decode(data) is None


def test_avro_with_a_type_of_another_schema(decoder: Decoder) -> None:
    told = decoder.decode(framed(1, avro(VALUE)))
    assert told is not None
    assert (told.kind, told.name, told.value) == ("AVRO", "shop.Order", VALUE)
    assert told.problem is None
    plain = decoder.decode(framed(4, b"\x0a"))
    assert plain is not None
    assert (plain.name, plain.value) == ("", 5)


def test_json_schema(decoder: Decoder) -> None:
    told = decoder.decode(framed(2, b'{"id": 5}'))
    assert told is not None
    assert (told.kind, told.name, told.value) == ("JSON", "Order", {"id": 5})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (framed(1, avro(VALUE)[:-2]), "it does not fit its schema"),
        (framed(1, avro(VALUE) + b"x"), "there are bytes behind the value"),
        (framed(2, b"{"), "it does not fit its schema"),
        (framed(3, b""), "schemas of type THRIFT are not known"),
        (framed(9, b""), "/schemas/ids/9 answers 404"),
    ],
)
def test_a_problem_is_told_with_the_schema(decoder: Decoder, data: bytes, problem: str) -> None:
    told = decoder.decode(data)
    assert told is not None
    assert told.value is None
    assert problem in (told.problem or "")
    assert told.schema_id == data[4]


def test_a_library_that_is_missing_is_named(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastavro", None)
    told = decoder.decode(framed(4, b"\x0a"))
    assert told is not None
    assert told.problem == "pip install 'kafkalite[schemas]' decodes AVRO"


def test_a_registry_has_one_decoder() -> None:
    assert decoder_of("http://a:1") is decoder_of("http://a:1")
    assert decoder_of("http://a:1") is not decoder_of("http://b:1")
