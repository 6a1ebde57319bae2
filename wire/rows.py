"""Rows: a struct as a tuple of all its declared fields, in the order of the declaration.

A row has the same shape in every version of its message: a field that the version does not have is
at its default. Arrays are lists of rows or of plain values. The hot APIs take and return rows:

    transactional_id, acks, timeout_ms, topics = request        # a ProduceRequest as a row

Unknown tagged fields are not in rows. Parsers and builders of rows are generated (compile_rows.py).
This module converts between rows and messages.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from operator import attrgetter
from typing import Any

from kafkalite.wire.schema import Field, Shape, fields_of


class SharedResponse:
    """The row of a response that is sent many times in one version; it is built once."""

    __slots__ = ("body", "has_no_errors", "row")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.row = row
        self.body: bytes | None = None
        # True once it has been looked through for error codes.
        self.has_no_errors = False


class LargeResponse:
    """The row of a response that is to be built in slices."""

    __slots__ = ("row",)

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.row = row


def row_of(response: Any) -> Any:
    """The row, or the message, of what a handler returned."""
    return response.row if type(response) in (SharedResponse, LargeResponse) else response


def default_row(class_: type[Any]) -> tuple[Any, ...]:
    """A struct whose fields are all at their defaults."""
    return tuple(default_value(field) for field in fields_of(class_))


def default_value(field: Field) -> Any:
    """The default of a field, in a row."""
    if isinstance(field.default, type):
        return default_row(field.default)
    return field.make_default()


def rows_of(message: object) -> tuple[Any, ...]:
    """A message as a row."""
    values, nested = _plans.get(type(message)) or _plan_of(type(message))
    row: tuple[Any, ...] = values(message)
    if not nested:
        return row
    converted = list(row)
    for place, field in nested:
        converted[place] = _converted(field, converted[place], rows_of)
    return tuple(converted)


_Plan = tuple[Callable[[Any], tuple[Any, ...]], list[tuple[int, Field]]]
# By class: what takes the values of all fields, and the places of lists and structs among them.
_plans: dict[type[Any], _Plan] = {}


def _plan_of(class_: type[Any]) -> _Plan:
    fields = fields_of(class_)
    names = [field.name for field in fields]
    # attrgetter makes a tuple of two values and more.
    values: Callable[[Any], tuple[Any, ...]] = (
        attrgetter(*names)
        if len(names) > 1
        else lambda message: tuple(getattr(message, name) for name in names)
    )
    nested = [
        (place, field)
        for place, field in enumerate(fields)
        if field.shape is Shape.ARRAY or isinstance(field.element, type)
    ]
    plan = _plans[class_] = values, nested
    return plan


def message_of_row(class_: Any, row: tuple[Any, ...]) -> Any:
    """A row as a message. Raises ValueError if the row has not the fields of the class."""
    message = class_()
    for field, value in zip(fields_of(class_), row, strict=True):
        convert = partial(message_of_row, field.element)
        setattr(message, field.name, _converted(field, value, convert))
    return message


def rows_in_steps(message: object) -> Generator[None, None, tuple[Any, ...]]:
    """`rows_of`, an element of a list at a time."""
    row: list[Any] = []
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if value and _lists_structs(field):
            elements: list[Any] = []
            for each in value:
                elements.append((yield from rows_in_steps(each)))
                yield
            row.append(elements)
        else:
            row.append(_converted(field, value, rows_of))
    return tuple(row)


def message_in_steps(class_: Any, row: tuple[Any, ...]) -> Generator[None, None, Any]:
    """`message_of_row`, an element of a list at a time."""
    message = class_()
    for field, value in zip(fields_of(class_), row, strict=True):
        if value and _lists_structs(field):
            elements: list[Any] = []
            for each in value:
                elements.append((yield from message_in_steps(field.element, each)))
                yield
            setattr(message, field.name, elements)
        else:
            convert = partial(message_of_row, field.element)
            setattr(message, field.name, _converted(field, value, convert))
    return message


def _lists_structs(field: Field) -> bool:
    return field.shape is Shape.ARRAY and isinstance(field.element, type)


def _converted(field: Field, value: Any, convert: Callable[[Any], Any]) -> Any:
    if value is None:
        return None
    is_struct = isinstance(field.element, type)
    if field.shape is Shape.ARRAY:
        return [convert(each) for each in value] if is_struct else list(value)
    return convert(value) if is_struct else value
