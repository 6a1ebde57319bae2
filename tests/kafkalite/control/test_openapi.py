"""OpenAPI describes every verb as the server takes it."""

from __future__ import annotations

from pathlib import Path
from threading import get_ident
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
import trio

from kafkalite.client.connecting import read_ready_file
from kafkalite.control import openapi as openapi_module
from kafkalite.control.http import _described
from kafkalite.control.openapi import openapi, plain
from kafkalite.control.verbs import VERBS
from kafkalite.testing import broker as test_broker


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return openapi()


def operations(described: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: operation
        for path in described["paths"].values()
        for operation in path.values()
    }


@pytest.mark.slow
def test_the_server_says_the_same(ready: Path, described: dict[str, Any]) -> None:
    url, _ = read_ready_file(ready)
    with urlopen(f"{url}/v1/openapi.json", timeout=10) as answer:
        assert msgspec.json.decode(answer.read()) == msgspec.json.decode(
            msgspec.json.encode(described)
        )


async def test_the_routes_are_described_once_and_not_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes 60 ms."""
    threads: list[int] = []

    def described() -> dict[str, Any]:
        threads.append(get_ident())
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(openapi_module, "openapi", described)
    _described.cache_clear()
    try:
        async with test_broker({"kafkalite.control.port": 0}) as broker:
            assert broker._control is not None
            url = f"{broker._control.address['url']}/v1/openapi.json"
            for _ in range(2):
                answer = await trio.to_thread.run_sync(lambda: urlopen(url, timeout=10).read())
                assert msgspec.json.decode(answer) == {"openapi": "3.1.0"}
    finally:
        _described.cache_clear()
    assert len(threads) == 1
    assert threads[0] != get_ident()


def test_every_verb_is_described(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    found = operations(described)
    assert found.keys() == {name.replace(".", "_") for name in VERBS}
    for name, verb in VERBS.items():
        path = described["paths"][f"/v1{verb.path}"]
        assert path[verb.method.lower()]["operationId"] == name.replace(".", "_")
        assert path[verb.method.lower()]["summary"].endswith(".")


@pytest.mark.slow
def test_the_description_is_valid(described: dict[str, Any]) -> None:
    """By the OpenAPI Initiative's own schema of 3.1, and that of JSON Schema."""
    from openapi_spec_validator import OpenAPIV31SpecValidator  # takes a while

    told = msgspec.json.decode(msgspec.json.encode(described))
    assert [error.message for error in OpenAPIV31SpecValidator(told).iter_errors()] == []
    told["components"]["schemas"]["Rule"]["type"] = "rule"
    assert not OpenAPIV31SpecValidator(told).is_valid()


def test_a_trace_is_a_file(described: dict[str, Any]) -> None:
    answer = operations(described)["trace_save"]["responses"]["200"]["content"]
    assert answer == {"application/zip": {"schema": {"type": "string", "format": "binary"}}}


def test_a_field_stands_in_one_place(described: dict[str, Any]) -> None:
    """In the path, else in the query of a GET or DELETE, else in the body."""
    found = operations(described)
    deleted = found["topics_delete"]["parameters"]
    assert [(each["name"], each["in"], each["required"]) for each in deleted] == [
        ("cluster", "path", True),
        ("topic", "path", True),
    ]
    read = {each["name"]: each for each in found["records_read"]["parameters"]}
    assert (read["count"]["in"], read["count"]["required"]) == ("query", False)
    assert (read["topic"]["in"], read["topic"]["required"]) == ("path", True)
    body = found["topics_lose"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"].keys() == {"partition", "to"}
    assert body["required"] == []
    assert not found["topics_lose"]["requestBody"]["required"]
    assert found["topics_create"]["requestBody"]["required"]


def test_all_but_health_needs_the_token(described: dict[str, Any]) -> None:
    assert described["security"] == [{"token": []}]
    found = operations(described)
    assert {name for name, each in found.items() if each.get("security") == []} == {"health"}


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, list):
            return {each for inner in value for each in references(inner)}
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(each) for each in value.values()))
        return set()

    there = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert references(described) <= there


def test_refusals_are_problems(described: dict[str, Any]) -> None:
    refused = operations(described)["reset"]["responses"]["4XX"]["content"]
    assert refused == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"type": ["integer", "null"], "format": "int64"},
        ),
        ({"type": "integer"}, {"type": "integer", "format": "int64"}),
        (
            {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
            {"type": ["string", "null"], "enum": ["a", "b", None]},
        ),
        (
            {"properties": {"x": {"type": "object", "additionalProperties": {}}}},
            {"properties": {"x": {"type": "object", "additionalProperties": True}}},
        ),
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, None),
        ({"anyOf": [{"$ref": "#/a"}, {"type": "null"}]}, None),
        ({"anyOf": [{"enum": [True]}, {"type": "null"}]}, None),
    ],
)
def test_null_is_a_type_and_no_schema(schema: Any, wanted: Any) -> None:
    """Generators of clients make classes of the schemas of `anyOf`."""
    assert plain(schema) == (schema if wanted is None else wanted)


def test_a_field_that_may_be_null_has_two_types(described: dict[str, Any]) -> None:
    group = described["components"]["schemas"]["GroupIs"]["properties"]
    assert group["members"] == {"type": ["integer", "null"], "format": "int64"}
    assert group["topics"]["type"] == ["array", "null"]
