"""A registry for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafkalite.schema_registry import SchemaRegistry, serving


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with serving() as running:
        yield running
