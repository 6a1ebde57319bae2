"""The values of the verbs of reset, restart and nodes: fields that are not known are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkalite.control import lifecycle
from kafkalite.control.lifecycle import Reset, RestartNode


@pytest.mark.parametrize(
    "struct",
    [
        each
        for each in vars(lifecycle).values()
        if isinstance(each, type)
        and issubclass(each, msgspec.Struct)
        and each.__module__ == lifecycle.__name__
    ],
)
def test_an_unknown_field_is_refused(struct: type[msgspec.Struct]) -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `no such field`"):
        msgspec.convert({"no such field": 1}, struct)


def test_what_is_not_said_has_a_default() -> None:
    assert msgspec.convert({}, Reset) == Reset(None, [], "cut")
    assert msgspec.convert({"node": 2}, RestartNode).pause == "200ms"


@pytest.mark.parametrize("fields", [{"to": "../x"}, {"keep": ["spy"]}, {"connections": "some"}])
def test_a_reset_says_what_it_may_say(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, Reset)
