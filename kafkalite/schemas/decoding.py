"""Decodes data that begins with a zero byte and the id of its schema (Confluent's wire format)."""

from __future__ import annotations

import functools
import importlib
import io
import json
from dataclasses import dataclass
from typing import Any, Final, cast

from kafkalite.schemas.registry import Registry, RegistryError, Schema

_MAGIC: Final = 0
_HEADER_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded value with its schema, or the problem with it. `name` is the type's, if it has
    one.
    """

    schema_id: int
    kind: str = ""
    name: str = ""
    value: Any = None
    problem: str | None = None


def schema_id_of(data: bytes | None) -> int | None:
    """The id that data names; None for data of another format."""
    if data is None or len(data) < _HEADER_BYTES or data[0] != _MAGIC:
        return None
    return int.from_bytes(data[1:_HEADER_BYTES])


class Decoder:
    """Decodes by the schemas of a registry. Its methods wait, and are for threads."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def decode(self, data: bytes | None) -> Decoded | None:
        """The value; None where data names no schema."""
        schema_id = schema_id_of(data)
        if data is None or schema_id is None:
            return None
        try:
            schema = self._registry.schema(schema_id)
        except RegistryError as error:
            return Decoded(schema_id, problem=str(error))
        try:
            name, value = _DECODERS[schema.kind](schema, bytes(data[_HEADER_BYTES:]))
            return Decoded(schema_id, schema.kind, name, value)
        except KeyError:
            problem = f"schemas of type {schema.kind} are not known"
        except ImportError:
            problem = f"pip install 'kafkalite[schemas]' decodes {schema.kind}"
        except Exception as error:  # noqa: BLE001 - of libraries, about data of any kind
            problem = f"it does not fit its schema: {error or type(error).__name__}"
        return Decoded(schema_id, schema.kind, problem=problem)


@functools.cache
def decoder_of(url: str) -> Decoder:
    """The decoder of a registry, with the schemas that it knows already. Raises ValueError."""
    return Decoder(Registry(url))


@functools.lru_cache(maxsize=1000)
def _avro_schema(schema: Schema) -> Any:
    fastavro: Any = importlib.import_module("fastavro")
    named: dict[str, Any] = {}
    for _, text in schema.references:
        fastavro.parse_schema(json.loads(text), named_schemas=named)
    return fastavro.parse_schema(json.loads(schema.text), named_schemas=named)


def _avro(schema: Schema, data: bytes) -> tuple[str, Any]:
    fastavro: Any = importlib.import_module("fastavro")
    parsed = _avro_schema(schema)
    rest = io.BytesIO(data)
    value = fastavro.schemaless_reader(rest, parsed, None)
    if rest.read(1):
        raise ValueError("there are bytes behind the value")
    return _text(parsed, "name"), value


def _text(schema: Any, name: str) -> str:
    """A field of a schema, which may be a list or a string instead."""
    if not isinstance(schema, dict):
        return ""
    return str(cast("dict[str, Any]", schema).get(name, ""))


def _protobuf(schema: Schema, data: bytes) -> tuple[str, Any]:
    from kafkalite.schemas.protobuf import decode

    return decode(schema, data)


def _json(schema: Schema, data: bytes) -> tuple[str, Any]:
    return _text(json.loads(schema.text), "title"), json.loads(data)


_DECODERS: Final = {"AVRO": _avro, "PROTOBUF": _protobuf, "JSON": _json}
