"""OpenAPI 3.1 of the control port, made of the table of verbs and the types of its requests."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

import kafkalite
from kafkalite.control.verbs import VERBS, Verb
from kafkalite.requests.names import listed

_PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "value": {},
        "hint": {"type": "string"},
    },
}

_NULL: Final = {"type": "null"}


def openapi() -> dict[str, Any]:
    """The description of all routes."""
    types = [each for verb in VERBS.values() for each in (verb.request, verb.answer)]
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    schemas, components = plain(schemas), plain(components)
    paths: dict[str, dict[str, Any]] = {}
    for number, verb in enumerate(VERBS.values()):
        request, answer = schemas[2 * number], schemas[2 * number + 1]
        operation = _operation(verb, request, answer, components)
        paths.setdefault(f"/v1{verb.path}", {})[verb.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kafkalite: the control plane",
            "version": kafkalite.__version__,
            "summary": "Faults, time, state and waiting as verbs.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM_SCHEMA},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def plain(schema: Any) -> Any:
    """The same schema in the words that generators of clients know.

    A value that may be null has two types, and not two schemas. An object of anything says so. A
    whole number has 64 bits: generators take 32 where nothing is said, too few for a time in ms.
    """
    if (several := listed(schema)) is not None:
        return [plain(each) for each in several]
    if not isinstance(schema, dict):
        return schema
    fields = {name: plain(each) for name, each in cast("dict[str, Any]", schema).items()}
    if fields.get("additionalProperties") == {}:
        fields["additionalProperties"] = True
    if fields.get("default", ...) in ({}, None):
        del fields["default"]  # it is left out where there is none
    if fields.get("type") == "integer":
        fields["format"] = "int64"
    either = fields.get("anyOf", [])
    others = [each for each in either if each != _NULL]
    if len(others) == len(either) or len(others) != 1:
        return fields
    (other,) = others
    values: list[Any] | None = other.get("enum")
    if values is not None and all(isinstance(each, str) for each in values):
        other = {**other, "type": "string"}
    if not isinstance(other.get("type"), str):
        return fields
    if other["type"] == "object":
        return other
    nullable = {**other, "type": [other["type"], "null"]}
    if values is not None:
        nullable["enum"] = [*values, None]
    return {**nullable, **{name: each for name, each in fields.items() if name != "anyOf"}}


def _operation(
    verb: Verb, request: dict[str, Any], answer: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    first, _, rest = verb.doc.partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": verb.name.replace(".", "_"),
        "summary": " ".join(first.split()),
        "tags": [verb.name.partition(".")[0]],
        "responses": {
            "200": {"description": "Done.", "content": _content(verb, answer)},
            "4XX": {
                "description": "It cannot be done, and why.",
                "content": {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                },
            },
        },
    }
    if rest:
        operation["description"] = " ".join(rest.split())
    fields = components[request["$ref"].rpartition("/")[2]]
    parameters = [_path_parameter(name, fields) for name in verb.in_path]
    if verb.upload is not None:
        file = {"schema": {"type": "string", "format": "binary"}}
        operation["requestBody"] = {"required": True, "content": {verb.upload: file}}
    elif verb.has_body:
        operation["requestBody"] = _body(verb, request, fields)
    else:
        parameters += _query_parameters(verb, fields)
    if parameters:
        operation["parameters"] = parameters
    if verb.name == "health":
        operation["security"] = []
    return operation


def _content(verb: Verb, answer: dict[str, Any]) -> dict[str, Any]:
    if verb.content_type == "application/json":
        return {verb.content_type: {"schema": answer}}
    if verb.is_stream:
        # OpenAPI 3.1 has no words for the messages of a stream: they are the components' Sighting.
        return {verb.content_type: {"schema": {"type": "string"}}}
    return {verb.content_type: {"schema": {"type": "string", "format": "binary"}}}


def _path_parameter(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    schema = fields.get("properties", {}).get(name, {"type": "string"})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(verb: Verb, fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in fields.get("required", []),
            "schema": schema,
        }
        for name, schema in fields.get("properties", {}).items()
        if name not in verb.in_path
    ]


def _body(verb: Verb, request: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The body: the request without what is in the path."""
    schema: dict[str, Any] = request
    if any(name in fields.get("properties", {}) for name in verb.in_path):
        schema = {
            **fields,
            "properties": {
                name: each
                for name, each in fields["properties"].items()
                if name not in verb.in_path
            },
            "required": [each for each in fields.get("required", []) if each not in verb.in_path],
        }
    required = bool(schema.get("required", fields.get("required")))
    return {"required": required, "content": {"application/json": {"schema": schema}}}
