"""Says what a criterion of a rule means: from the value that was written to a predicate."""

from __future__ import annotations

import fnmatch
import re as standard_re
from collections.abc import Callable, Mapping
from typing import Any, cast

from kafkalite.control.problems import Problem

Predicate = Callable[[object], bool]


def predicate(value: object, *, field: str) -> Predicate:
    """The predicate that a Match stands for. Raises Problem, which names `field`.

    Strings are globs where they have `*`, `?` or `[`; a list means any of its members.
    """
    match value:
        case list() | tuple():
            several = [predicate(each, field=field) for each in cast("list[object]", value)]
            return lambda seen: any(each(seen) for each in several)
        case Mapping():
            return _spelled_out(cast("Mapping[str, object]", value), field)
        case str() if any(sign in value for sign in "*?["):
            pattern = standard_re.compile(fnmatch.translate(value))
            return lambda seen: isinstance(seen, str) and pattern.match(seen) is not None
        case None | str() | int() | float() | bool():
            return lambda seen: _same(seen, value)
        case _:
            raise _unclear(value, field)


def _spelled_out(value: Mapping[str, object], field: str) -> Predicate:
    keys = set(value)
    if keys == {"re"}:
        return _regular_expression(value["re"], field)
    if keys == {"not"}:
        inner = predicate(value["not"], field=field)
        return lambda seen: not inner(seen)
    if keys and keys <= {"min", "max"}:
        low, high = value.get("min"), value.get("max")
        if all(each is None or _is_number(each) for each in (low, high)):
            return lambda seen: _is_number(seen) and _within(seen, low, high)
    raise _unclear(value, field)


def _regular_expression(pattern: object, field: str) -> Predicate:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(str(pattern), options)
    except re2.error as error:
        told = error.args[0] if error.args else ""  # of bytes
        reason = told.decode("utf-8", "replace") if isinstance(told, bytes) else told
        raise Problem("invalid_match", f"{field}: {reason}", value=pattern) from None
    return lambda seen: isinstance(seen, str) and compiled.search(seen) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _within(seen: Any, low: Any, high: Any) -> bool:
    return (low is None or seen >= low) and (high is None or seen <= high)


def _same(seen: object, value: object) -> bool:
    # True is 1 in Python, and is not in JSON.
    return seen == value and isinstance(seen, bool) == isinstance(value, bool)


def _unclear(value: object, field: str) -> Problem:
    return Problem(
        "invalid_match",
        f"{field} cannot be compared with {value!r}",
        value=value,
        hint='a value, a list, "glob*", {"re": ...}, {"min": ..., "max": ...} or {"not": ...}',
    )
