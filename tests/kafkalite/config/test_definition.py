"""Config definitions: every default is valid, and values are written as Java writes them."""

from __future__ import annotations

import pytest

from kafkalite.config import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    format_value,
)


def test_every_default_is_a_valid_value() -> None:
    for table in (BROKER_CONFIGS, TOPIC_CONFIGS):
        for definition in table.values():
            if definition.valid not in ("non-empty list", "non-empty string"):
                definition.parse(definition.default)
            assert definition.documentation.endswith("."), definition.name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (12345678.9, "1.23456789E7"),
        (1e-5, "1.0E-5"),
        (7, "7"),
    ],
)
def test_values_are_written_as_java_writes_them(
    value: bool | float | tuple[str, ...] | None, text: str | None
) -> None:
    assert format_value(value) == text
