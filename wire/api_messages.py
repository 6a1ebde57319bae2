"""The classes of an API's messages, found by its key.

One API has one name everywhere: PRODUCE is messages/produce.py with ProduceRequest and
ProduceResponse. A module is imported when its API is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.schema import Message, message_of


@cache
def request_class(api_key: int) -> type[Any]:
    """The class of an API's requests; raises KeyError where there is none."""
    return _message_class(api_key, "Request")


@cache
def response_class(api_key: int) -> type[Any]:
    """The class of an API's responses; raises KeyError where there is none."""
    return _message_class(api_key, "Response")


def _message_class(api_key: int, suffix: str) -> type[Any]:
    try:
        name = ApiKey(api_key).name
        module = import_module(f"kafkalite.wire.messages.{name.lower()}")
    except (ValueError, ModuleNotFoundError):
        raise KeyError(api_key) from None
    class_: type[Any] = getattr(module, name.title().replace("_", "") + suffix)
    return class_


def message_in(api_key: int, version: int, class_of: Callable[[int], type[Any]]) -> Message | None:
    """The declaration of a message; None if the API has no such version."""
    try:
        message = message_of(class_of(api_key))
    except KeyError:
        return None
    return message if message.min_version <= version <= message.max_version else None
