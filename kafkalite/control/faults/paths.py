"""Dotted paths into messages, held against the declarations: a path that leads nowhere is refused
when a rule is made. It would match nothing, or fail its request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any

from kafkalite.control.faults.rule import Rule
from kafkalite.control.problems import Problem
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import Shape, fields_of


def check_paths(rule: Rule, api_keys: Collection[ApiKey] | None) -> None:
    """Raise Problem for a path that no API of the rule has. Rules for all APIs are not checked."""
    if api_keys is None:
        return
    for path in rule.when.request:
        _check(path, "request", api_keys, request_class)
    for action in rule.all_actions:
        for path in action.patch or ():
            _check(path, "patch", api_keys, response_class)


def _check(
    path: str,
    field: str,
    api_keys: Collection[ApiKey],
    class_of: Callable[[int], type[Any]],
) -> None:
    wrong = [_wrong(class_of(key), path) for key in sorted(api_keys)]
    if wrong and None not in wrong:
        detail, hint = next(each for each in wrong if each is not None)
        raise Problem("invalid_fault", f"{field} {path!r}: {detail}", value=path, hint=hint)


def _wrong(message: type[Any], path: str) -> tuple[str, str | None] | None:
    """The mistake in a path, and a hint; None if the message has the path."""
    at: FieldType[Any] | type[Any] = message
    is_list = False
    for name in path.split("."):
        if is_list:
            is_list = False
            if name != "*" and not name.isdigit():
                return f"a list is before {name!r}", 'write "*" for all of it, or a number'
            continue
        fields = {each.name: each for each in fields_of(at)} if isinstance(at, type) else {}
        if name not in fields:
            similar = get_close_matches(name, fields, 1)
            hint = f"did you mean {similar[0]!r}?" if similar else ", ".join(fields) or None
            where = at.__name__ if isinstance(at, type) else "a plain value"
            return f"{where} has no field {name!r}", hint
        at, is_list = fields[name].element, fields[name].shape is Shape.ARRAY
    return None
