"""The way a word answers: tables for people, JSON for programs, bars while it takes long."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any, Final, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from kafkalite.client.safe_text import safe

T = TypeVar("T")
Row = Mapping[str, Any]
# The key in a row, and the heading over its column.
Columns = Mapping[str, str]

# A line is broken by the terminal alone, so that what is copied from there is one line.
_ANY_WIDTH: Final = 10_000
_NOTHING: Final = "-"
# The spaces between two columns, and what is left of a text that is cut.
_BETWEEN: Final = 2
_LEAST_TEXT: Final = 8


class Output:
    """A word's answer on the standard output, as tables or as JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        plain: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False}
        self._lines = Console(**plain, width=_ANY_WIDTH, soft_wrap=True)
        self._screen = Console(**plain) if sys.stdout.isatty() else self._lines
        self._errors = Console(**plain, stderr=True)

    def rows(self, rows: Sequence[Row], columns: Columns, nothing: str = "") -> None:
        """Print rows as a table; as JSON a list of all that they have. `nothing` says why none."""
        if not rows and nothing:
            self.note(nothing)
        if self.as_json:
            self.json(rows)
        elif (table := fitted(rows, columns, self._screen.width)) is not None:
            self._screen.print(table)
        else:
            self._lines.print(_table(rows, columns))

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Print lines of `name: value`, for a table that follows."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            self._lines.print(Text.assemble((f"{name:{width}}  ", "bold"), _shown(value)))

    def json(self, value: Any) -> None:
        """Print a value as JSON."""
        print(json.dumps(value, indent=2))

    def line(self, row: Row, text: Text | str) -> None:
        """Print one of many, at once: a line of text, or of JSON."""
        if self.as_json:
            print(json.dumps(row), flush=True)
        else:
            self._lines.print(text)
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something beside the answer, on the standard error."""
        self._errors.print(text, soft_wrap=True)

    def track(self, items: Sequence[T], what: str) -> Iterable[T]:
        """The items, with a bar on the terminal that shows how far it is."""
        with self.progress(what, len(items)) as advance:
            for item in items:
                yield item
                advance(1)

    @contextmanager
    def progress(self, what: str, total: int | None) -> Generator[Callable[[int], None]]:
        """A bar on the standard error, if that is a terminal; gives what moves it on."""
        bar = Progress(console=self._errors, transient=True, disable=not sys.stderr.isatty())
        with bar:
            task = bar.add_task(what, total=total)

            def advance(count: int) -> None:
                bar.advance(task, count)

            yield advance

    @contextmanager
    def watched(self, columns: Columns) -> Generator[Callable[[Sequence[Row]], None]]:
        """A table that is shown anew by calling what this gives with other rows."""
        live = Live(console=self._screen, auto_refresh=False)
        is_live = sys.stdout.isatty() and not self.as_json

        def show(rows: Sequence[Row]) -> None:
            if self.as_json:
                print(json.dumps(rows), flush=True)
            elif is_live:
                table = fitted(rows, columns, self._screen.width)
                live.update(table or _table(rows, columns), refresh=True)
            else:
                self.rows(rows, columns)

        with live if is_live else nullcontext():
            yield show


def fitted(rows: Sequence[Row], columns: Columns, width: int) -> Table | None:
    """A table that is at most so wide; None if it cannot be read then.

    Headings over numbers are broken, then text is cut, the longest first. Numbers stay whole.
    """
    if _width(rows, columns, _width_of) <= width:
        return _table(rows, columns)
    broken = {
        key: "-\n".join(heading.rsplit("-", 1)) if _is_numeric(rows, key) else heading
        for key, heading in columns.items()
    }
    least = _width(rows, broken, _least_width_of)
    return _table(rows, broken) if least <= width else None


def _table(rows: Sequence[Row], columns: Columns) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key, heading in columns.items():
        numeric = _is_numeric(rows, key)
        table.add_column(
            heading,
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="ellipsis",
            min_width=_least_width_of(rows, key, heading),
        )
    for row in rows:
        table.add_row(*(_shown(row.get(key)) for key in columns))
    return table


def _is_numeric(rows: Sequence[Row], key: str) -> bool:
    return any(isinstance(row.get(key), int) for row in rows)


def _width(
    rows: Sequence[Row], columns: Columns, width_of: Callable[[Sequence[Row], str, str], int]
) -> int:
    widths = [width_of(rows, key, heading) for key, heading in columns.items()]
    return sum(widths) + _BETWEEN * (len(widths) - 1)


def _width_of(rows: Sequence[Row], key: str, heading: str) -> int:
    shown = [_shown(row.get(key)) for row in rows]
    return max(map(cell_len, (*heading.splitlines(), *shown)))


def _least_width_of(rows: Sequence[Row], key: str, heading: str) -> int:
    width = _width_of(rows, key, heading)
    if _is_numeric(rows, key):
        return width
    return max(min(width, _LEAST_TEXT), *map(cell_len, heading.splitlines()), 0)


def _shown(value: Any) -> str:
    match value:
        case None:
            return _NOTHING
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ",".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return safe(str(value))


def moment(at_ms: float) -> str:
    """A time, given in ms since the epoch, as the machine's clock on the wall has it; after the
    year 9999, which only a record may have, the number."""
    try:
        return datetime.fromtimestamp(at_ms / 1000).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{round(at_ms)} ms"
