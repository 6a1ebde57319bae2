"""Each handler takes and returns what its API's messages are: the table itself cannot say so."""

from __future__ import annotations

import importlib
import inspect

import pytest

from kafkalite.apis import APIS, Api
from kafkalite.wire.api_messages import request_class, response_class


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_a_handler_is_annotated_with_the_messages_of_its_api(api: Api) -> None:
    """The types a handler may return: rows where the table says `rows`, else messages."""
    module = importlib.import_module(f"kafkalite.apis.{api.key.name.lower()}")
    assert api.load() is module.handle
    parameters = inspect.signature(module.handle).parameters
    assert list(parameters)[:2] == ["services", "context"]
    suffix = "Row" if api.rows else ""
    asked, answered = (
        f"{class_(api.key).__name__}{suffix}" for class_ in (request_class, response_class)
    )
    assert list(parameters.values())[2].annotation == asked
    words = inspect.signature(module.handle).return_annotation
    allowed = {answered, "None", f"Coroutine[Any, Any, {answered}]"}
    allowed |= {"SharedResponse", "Coroutine[Any, Any, LargeResponse]"}
    assert words.split(" | ")[0] == answered
    for part in words.replace(f"{answered} | None]", f"{answered}]").split(" | "):
        assert part in allowed, words


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.key.name)
def test_the_names_in_the_annotations_are_the_messages_themselves(api: Api) -> None:
    module = importlib.import_module(f"kafkalite.apis.{api.key.name.lower()}")
    messages = importlib.import_module(f"kafkalite.wire.messages.{api.key.name.lower()}")
    for class_ in (request_class(api.key), response_class(api.key)):
        name = f"{class_.__name__}{'Row' if api.rows else ''}"
        assert getattr(module, name) is getattr(messages, name)
