"""Counts the error codes in responses, by functions generated from the responses' declarations.

Such a function looks only where there is an error code. It takes the response of every request
where requests are counted, so it has to be quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kafkalite.requests.slices import Steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.compile_source import SourceWriter
from kafkalite.wire.schema import Shape, fields_of

# By error code, or by another word where there is none.
Errors = Counter[int | str]
ErrorCounter = Callable[[Any, Errors], None]
_CODE: Final = "error_code"


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
    """Counts the error codes in an API's response as a row (wire/rows.py)."""
    counter: ErrorCounter = _compiled(response_class(key), rows=True, in_steps=False)
    return counter


@cache
def counter_in_steps(key: ApiKey, *, rows: bool) -> Callable[[Any, Errors], Steps[None]]:
    """Counts the error codes in an API's response, one element a step."""
    counter: Callable[[Any, Errors], Steps[None]]
    counter = _compiled(response_class(key), rows=rows, in_steps=True)
    return counter


def _compiled(struct: type[Any], *, rows: bool, in_steps: bool) -> Any:
    lines = ["def count(message, errors):", "    yield" if in_steps else "    pass"]
    _write(lines, struct, "message", 1, rows=rows, in_steps=in_steps)
    source = "\n".join(lines)
    writer = SourceWriter(0, flexible=False, names={})
    return writer.execute(source, "count", f"errors of {struct.__name__}")


def _write(
    lines: list[str], struct: type[Any], name: str, depth: int, *, rows: bool, in_steps: bool
) -> None:
    """The lines for the values of a struct that the variable `name` refers to."""
    indent = "    " * depth
    for position, field in enumerate(fields_of(struct)):
        value = f"{name}[{position}]" if rows else f"{name}.{field.name}"
        if field.name == _CODE:
            lines.append(f"{indent}if {value}: errors[{value}] += 1")
        elif isinstance(field.element, type) and _has_error_code(field.element):
            inner = f"value{depth}"
            if field.shape is Shape.ARRAY:
                lines.append(f"{indent}for {inner} in {value} or ():")
                if in_steps:
                    lines.append(f"{indent}    yield")
            else:
                lines.append(f"{indent}{inner} = {value}")
                lines.append(f"{indent}if {inner} is not None:")
            _write(lines, field.element, inner, depth + 1, rows=rows, in_steps=in_steps)


def _has_error_code(struct: type[Any]) -> bool:
    return any(
        field.name == _CODE or (isinstance(field.element, type) and _has_error_code(field.element))
        for field in fields_of(struct)
    )
