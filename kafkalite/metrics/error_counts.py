"""Counts the error codes in responses, by functions generated from the responses' declarations.

Such a function looks only where there is an error code. It takes the response of every request
where requests are counted, so it has to be quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from kafkalite.requests.slices import Steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.compile_source import SourceWriter
from kafkalite.wire.errors import ERROR_FIELDS
from kafkalite.wire.rows import LargeResponse, SharedResponse
from kafkalite.wire.schema import KeptRow, Shape, fields_of, has_kept_rows

# By error code, or by another word where there is none.
Errors = Counter[int | str]
# Adds the error codes in a response to the counter.
ErrorCounter = Callable[[Any, Errors], None]
# The same as a gate of metrics calls it: with the services and the request, too.
ResponseCounter = Callable[[Any, Errors, Any, Any], None]


def error_codes(response: Any) -> Errors:
    """Every error code in a message that is not NONE, wherever it stands, and how often."""
    errors: Errors = Counter()
    counter_of_messages(response.__class__)(response, errors)
    return errors


@cache
def counter_of_messages(struct: type[Any]) -> ErrorCounter:
    """Counts the error codes in a message, or in a struct of one."""
    counter: ErrorCounter = _compiled(struct, rows=False, in_steps=False)
    return counter


@cache
def counter_of_rows(key: ApiKey) -> ErrorCounter:
    """Counts the error codes in what a handler of rows returned (wire/rows.py), or None."""
    counter: ErrorCounter = _compiled(response_class(key), rows=True, in_steps=False)
    return counter


def response_counter(key: ApiKey) -> ResponseCounter:
    """`counter_of_rows` for a gate."""
    return cast("ResponseCounter", counter_of_rows(key))


@cache
def counter_in_steps(key: ApiKey, *, rows: bool) -> Callable[[Any, Errors], Steps[None]]:
    """Counts the error codes in an API's response, one element a step."""
    counter: Callable[[Any, Errors], Steps[None]]
    counter = _compiled(response_class(key), rows=rows, in_steps=True)
    return counter


def _compiled(struct: type[Any], *, rows: bool, in_steps: bool) -> Any:
    lines = ["def count(message, errors, services=None, request=None):"]
    if rows and not in_steps:
        lines += ["    if message.__class__ is not tuple:"]
        lines += ["        return count_held(count, message, errors)"]
    lines.append("    yield" if in_steps else "    pass")
    _write(lines, struct, "message", 1, rows=rows, in_steps=in_steps)
    source = "\n".join(lines)
    names = {"KeptRow": KeptRow, "count_held": _count_held}
    writer = SourceWriter(0, flexible=False, names=names)
    return writer.execute(source, "count", f"errors of {struct.__name__}")


def _count_held(
    count: ErrorCounter, response: SharedResponse | LargeResponse | None, errors: Errors
) -> None:
    """Count in the row of a response. One that is sent many times is looked through once."""
    if response is None or (type(response) is SharedResponse and response.has_no_errors):
        return
    found: Errors = Counter()
    count(response.row, found)
    errors.update(found)
    if type(response) is SharedResponse:
        response.has_no_errors = not found


def _write(
    lines: list[str], struct: type[Any], name: str, depth: int, *, rows: bool, in_steps: bool
) -> None:
    """The lines for the values of a struct that the variable `name` refers to."""
    indent = "    " * depth
    for position, field in enumerate(fields_of(struct)):
        value = f"{name}[{position}]" if rows else f"{name}.{field.name}"
        if field.name in ERROR_FIELDS:
            lines.append(f"{indent}if {value}: errors[{value}] += 1")
        elif isinstance(field.element, type) and _has_error_code(field.element):
            inner = f"value{depth}"
            if field.shape is Shape.ARRAY:
                lines.append(f"{indent}for {inner} in {value} or ():")
                if in_steps:
                    lines.append(f"{indent}    yield")
                if rows and has_kept_rows(field.element):
                    lines.append(
                        f"{indent}    if {inner}.__class__ is KeptRow and {inner}.has_no_errors:"
                    )
                    lines.append(f"{indent}        continue")
            else:
                lines.append(f"{indent}{inner} = {value}")
                lines.append(f"{indent}if {inner} is not None:")
            _write(lines, field.element, inner, depth + 1, rows=rows, in_steps=in_steps)


def _has_error_code(struct: type[Any]) -> bool:
    return any(
        field.name in ERROR_FIELDS
        or (isinstance(field.element, type) and _has_error_code(field.element))
        for field in fields_of(struct)
    )
