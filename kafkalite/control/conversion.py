"""Plain data into typed values, from any thread.

msgspec looks at a struct when it is used for the first time. Two threads that do so at once crash
the process, so the first look is taken under a lock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

import msgspec

T = TypeVar("T")

_STEP: Final = re.compile(r"\.([^.\[\]`]+)|\[(\d+)\]")
_LOCK: Final = Lock()
_known: set[Any] = set()


def converted(value: object, to: type[T], *, strict: bool = True, str_keys: bool = False) -> T:
    """The value as `to`; numbers may be text unless `strict`.

    Raises msgspec.ValidationError, whose text names the field, its value, and what it may be.
    """
    _know(to)
    try:
        return msgspec.convert(value, to, strict=strict, str_keys=str_keys)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(in_words(str(error), value, to)) from None


def decoded(data: bytes, to: Any) -> Any:
    """JSON as `to`. Raises msgspec.DecodeError."""
    _know(to)
    return msgspec.json.decode(data, type=to)


def _know(to: Any) -> None:
    if to not in _known:
        with _LOCK:
            msgspec.json.Decoder(to)
            _known.add(to)


def in_words(text: str, value: Any, to: Any) -> str:
    """A mistake that msgspec found, as a sentence: "drop is 'never': it is before or after"."""
    message, _, path = text.partition(" - at `$")
    names = [name or index for name, index in _STEP.findall(path)]
    types: Sequence[Any] = [to]
    for name in names:
        types = [part for each in types for part in _parts(each, name)]
        value = _at(value, name)
    if not names or isinstance(value, (dict, list)):
        return text if names else message
    field = ".".join(name for name in names if not name.isdigit())
    choices = [each for part in types for each in _choices(part)]
    wanted = f"it is {' or '.join(map(str, choices))}" if choices else message.replace("`", "")
    return f"{field} is {value!r}: {wanted[0].lower()}{wanted[1:]}"


def _parts(type_: Any, name: str) -> list[Any]:
    """The types that a field, or an element, of a type may have."""
    found: list[Any] = []
    for each in (type_, *get_args(type_)):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            fields = msgspec.structs.fields(each)
            found += [field.type for field in fields if field.encode_name == name]
        elif get_origin(each) in (list, tuple, dict):
            found += get_args(each)
    return found


def _at(value: Any, name: str) -> Any:
    match value:
        case dict():
            return cast("dict[str, Any]", value).get(name)
        case list() | tuple():
            return cast("Sequence[Any]", value)[int(name)]
        case _:
            return getattr(value, name, None)


def _choices(type_: Any) -> list[Any]:
    """The values that a type names, if it names some."""
    if get_origin(type_) is Literal:
        return ["true" if each is True else each for each in get_args(type_)]
    return [choice for each in get_args(type_) for choice in _choices(each)]
