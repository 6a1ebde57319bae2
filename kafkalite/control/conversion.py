"""Plain data into typed values, from any thread.

msgspec looks at a struct when it is used for the first time. Two threads that do so at once crash
the process, so the first look is taken under a lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

import msgspec

from kafkalite.control.problems import Problem

T = TypeVar("T")

_UNKNOWN: Final = re.compile("Object contains unknown field `(.*)`")
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


def checked(request: T) -> T:
    """A request that Python has put together, if its fields are what they may be.

    Raises Problem, as the control port refuses the same request.
    """
    try:
        return converted(msgspec.to_builtins(request, enc_hook=_plain), type(request))
    except msgspec.ValidationError as error:
        raise Problem("invalid_request", str(error)) from None


def _plain(value: object) -> object:
    """A mapping or a sequence of another kind than those that JSON has."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, Iterable):
        return list(cast("Iterable[object]", value))
    raise Problem("invalid_request", f"{value!r} cannot be said in JSON")


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
    if (unknown := _UNKNOWN.fullmatch(message)) is not None:
        return _no_field(unknown[1], ".".join(names), types)
    if not names or isinstance(value, (dict, list)):
        return text if names else message
    field = ".".join(name for name in names if not name.isdigit())
    choices = [each for part in types for each in _choices(part)]
    described = next((each for part in types for each in _described(part)), None)
    if choices:
        wanted = f"it is {' or '.join(map(str, choices))}"
    else:
        wanted = message.replace("`", "") if described is None else f"it is {described}"
    return f"{field} is {value!r}: {wanted[0].lower()}{wanted[1:]}"


def _no_field(name: str, where: str, types: Sequence[Any]) -> str:
    """The sentence for a field that is not known, with what may be meant."""
    structs = [
        part
        for each in types
        for part in (each, *get_args(each))
        if isinstance(part, type) and issubclass(part, msgspec.Struct)
    ]
    known = [field.encode_name for part in structs for field in msgspec.structs.fields(part)]
    from difflib import get_close_matches  # rarely needed

    similar = get_close_matches(name, known, 1)
    meant = f"did you mean {similar[0]!r}?" if similar else f"there is {', '.join(known)}"
    return f"{where or 'this'} has no field {name!r}" + (f" ({meant})" if known else "")


def _described(type_: Any) -> list[str]:
    """The descriptions of a type, if it is annotated with some."""
    return [
        each.description
        for part in (type_, *get_args(type_))
        for each in get_args(part)
        if isinstance(each, msgspec.Meta) and each.description is not None
    ]


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
