"""A schema registry is asked once for a schema and for what that imports."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kafkalite.schemas.registry import Registry, RegistryError, Schema
from tests.kafkalite.schema_registry import SchemaRegistry


def reference(name: str) -> dict[str, Any]:
    return {"name": name, "subject": f"{name}-value", "version": 1}


def test_a_schema_is_asked_for_once(registry: SchemaRegistry) -> None:
    registry.schemas[7] = {"schema": '"string"'}
    asking = Registry(registry.url)
    assert asking.schema(7) == asking.schema(7) == Schema(7, "AVRO", '"string"')
    assert registry.asked == ["/schemas/ids/7"]


def test_what_a_schema_imports_comes_before_it(registry: SchemaRegistry) -> None:
    names = {"schemaType": "PROTOBUF", "references": [reference("b"), reference("a")]}
    registry.schemas[1] = {"schema": "top", **names}
    registry.subjects["b-value", "1"] = {"schema": "B", "references": [reference("a")]}
    registry.subjects["a-value", "1"] = {"schema": "A"}
    schema = Registry(registry.url).schema(1)
    assert schema == Schema(1, "PROTOBUF", "top", (("a", "A"), ("b", "B")))
    assert len(registry.asked) == 3


def test_a_user_and_a_password_are_sent_and_not_told(registry: SchemaRegistry) -> None:
    with_user = registry.url.replace("//", "//me:secret@") + "/api/"
    with pytest.raises(RegistryError, match="/api/schemas/ids/3 answers 404") as caught:
        Registry(with_user).schema(3)
    assert "secret" not in str(caught.value)
    assert registry.authorizations == [f"Basic {base64.b64encode(b'me:secret').decode()}"]


def test_a_schema_that_is_missing_may_come_later(registry: SchemaRegistry) -> None:
    asking = Registry(registry.url)
    with pytest.raises(RegistryError, match="answers 404"):
        asking.schema(3)
    registry.schemas[3] = {"schema": "{}", "schemaType": "JSON"}
    assert asking.schema(3).kind == "JSON"


def test_a_registry_that_is_not_there_is_named() -> None:
    with pytest.raises(RegistryError, match=r"http://127\.0\.0\.1:1 does not answer"):
        Registry("http://127.0.0.1:1").schema(1)


@pytest.mark.parametrize("url", ["", "localhost:8081", "file:///etc/passwd", "ftp://h/"])
def test_what_is_no_url_of_http_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is no http"):
        Registry(url)


def test_a_password_is_not_told_of_what_is_no_url() -> None:
    with pytest.raises(ValueError, match="'h:8081' is no http") as caught:
        Registry("ftp://me:secret@h:8081")
    assert "secret" not in str(caught.value)
