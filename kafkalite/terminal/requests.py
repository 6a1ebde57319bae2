"""`kafkalite requests`: what clients have sent to a kafkalite with a control port, and what came.

The spy keeps the requests (kafkalite spy set on). `--follow` turns it on, and off again in the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.text import Text

from kafkalite.client.command import client_of
from kafkalite.client.connecting import Client
from kafkalite.client.safe_text import safe
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import RequestView, Sighting
from kafkalite.terminal.kafka import Refused
from kafkalite.terminal.output import Output, moment

_FLAGS = (
    click.option("--url", metavar="URL", help="http://HOST:PORT of the control port."),
    click.option("--token", help="Its token."),
    click.option(
        "--ready-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The ready file of the kafkalite to ask; else KAFKALITE_READY_FILE names it.",
    ),
    click.option("-c", "--cluster", default="default", help="The cluster, if not the first."),
    click.option("-J", "--json", "as_json", is_flag=True, help="Print JSON, an object a line."),
)


def _asks_the_control_port(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose function is given `client` and `out` in the place of the flags."""

    @functools.wraps(function)
    def command(as_json: bool, **given: Any) -> None:
        names = ("url", "token", "ready_file", "cluster")
        where = {name: given.pop(name) for name in names}
        try:
            client = client_of(where)
        except OSError as error:
            raise click.UsageError(f"the ready file cannot be read: {error}") from None
        except (ValueError, KeyError) as error:
            reason = "it has no control port" if isinstance(error, KeyError) else str(error)
            raise click.UsageError(reason) from None
        function(client, Output(as_json=as_json), **given)

    flagged: Callable[..., None] = command
    for flag in reversed(_FLAGS):
        flagged = flag(flagged)
    return flagged


@click.command("requests")
@click.option("-f", "--follow", is_flag=True, help="Go on with those that come, until Ctrl-C.")
@click.option("-n", "--lines", default=10, type=click.IntRange(1, 10_000), help="The last N.")
@click.option("--api", help="Those of an API, such as Produce; * stands for anything.")
@click.option("--client-id", help="Those of a client; * stands for anything.")
@click.option("-t", "--topic", help="Those about a topic; * stands for anything.")
@click.option("--error", help="Those that were refused so; * stands for anything.")
@_asks_the_control_port
def requests(client: Client, out: Output, follow: bool, lines: int, **wanted: str | None) -> None:
    """Show the last requests that a kafkalite was sent, and how it answered them.

    `kafkalite requests show NUMBER` has one in full: docs/testing.md.
    """
    chosen = {name: value for name, value in wanted.items() if value is not None}
    try:
        if not follow:
            for view in _asked(client, "requests.list", limit=lines, **chosen):
                _show(out, view)
            if _asked(client, "spy.show").mode == "off":
                out.note("the spy is off: kafkalite spy set on, or --follow")
            return
        with _spy_on(client) as last:
            for seen in _following(client, last, chosen):
                if seen.request is not None:
                    _show(out, seen.request)
                else:
                    out.note(f"{seen.missed} requests came and went unseen: the spy had no room")
    except KeyboardInterrupt:
        return


def _asked(client: Client, verb: str, **fields: Any) -> Any:
    """The answer of a verb. Raises Refused."""
    with _refusals():
        return client.ask(verb, **fields)


@contextmanager
def _refusals() -> Generator[None]:
    """Refusals of a control port, and its absence, are raised as Refused, mistakes as
    UsageError."""
    try:
        yield
    except Problem as problem:
        hint = f" ({problem.hint})" if problem.hint else ""
        told = f"{problem.detail}{hint}"
        raise (click.UsageError(told) if problem.is_mistake else Refused(told)) from None
    except OSError as error:
        raise Refused(f"no control port answers: {error}") from None


@contextmanager
def _spy_on(client: Client) -> Generator[int]:
    """The spy is on; gives the number of the last request before."""
    spy = _asked(client, "spy.show")
    if spy.mode == "off":
        _asked(client, "spy.set", mode="on")
    try:
        yield spy.last
    finally:
        if spy.mode == "off":
            _asked(client, "spy.set", mode="off")


def _following(client: Client, after: int, wanted: dict[str, str]) -> Iterator[Sighting]:
    """The requests that come, each once it is answered; for ever. Raises Refused."""
    with _refusals():
        yield from client.stream(what="requests", after=f"{after}-0", **wanted)


def _show(out: Output, view: RequestView) -> None:
    out.line(msgspec.to_builtins(view), "" if out.as_json else as_text(view))


def as_text(view: RequestView) -> Text:
    """A request for people: time, API, client, topics, outcome, how long it took."""
    shown = Text()
    shown.append(moment(view.received_ms), "dim")
    shown.append(f"  {view.seq}  {view.api} v{view.version}", "cyan")
    shown.append(f"  {safe(view.client_id) or '-'} at {view.connection}")
    if view.topics:
        shown.append(f"  {', '.join(view.topics)}", "green")
    outcome = "ok" if view.outcome == "answered" else view.outcome
    shown.append(f"  {view.error or outcome}", "red" if view.error else "")
    if view.why:
        shown.append(f" ({view.why})")
    if view.fault is not None:
        shown.append(f"  by fault {view.fault}", "magenta")
    if view.answered_ms is not None:
        shown.append(f"  {view.answered_ms - view.received_ms:.1f} ms")
    return shown
