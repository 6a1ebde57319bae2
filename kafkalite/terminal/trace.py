"""`kafkalite trace show FILE`: a trace of a run, without its broker.

The requests and events of the file in the order of time. `kafkalite trace save FILE` writes one,
and pytest does with --kafkalite-traces.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.text import Text

from kafkalite.client.safe_text import safe
from kafkalite.control.faults.criteria import predicate
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import EventView, ListRequests, RequestView
from kafkalite.control.spy.choice import Choice
from kafkalite.terminal.kafka import Refused
from kafkalite.terminal.output import Output, moment
from kafkalite.terminal.requests import as_text

_META: Final = ("cluster", "cluster_id", "bootstrap", "kafkalite", "spy")


@click.group("trace", no_args_is_help=False)
def trace() -> None:
    """Look at a trace; `kafkalite trace save FILE` asks a control port for one."""


@trace.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--request", "seq", type=int, metavar="NUMBER", help="One request, in full.")
@click.option("-n", "--lines", type=click.IntRange(1), help="The last N; else all.")
@click.option("--api", help="Requests of an API, such as Produce; * stands for anything.")
@click.option("--client-id", help="Requests of a client; * stands for anything.")
@click.option("-t", "--topic", help="Requests about a topic; * stands for anything.")
@click.option("--error", help="Requests that were refused so; * stands for anything.")
@click.option("--kind", help="Events of a kind, such as group.*.")
@click.option("-J", "--json", "as_json", is_flag=True, help="Print JSON, an object a line.")
def show(
    file: Path, as_json: bool, seq: int | None, lines: int | None, kind: str | None, **given: Any
) -> None:
    """Show the requests and the events in a trace, the oldest first.

    What chooses requests leaves the events out, and --kind the requests, unless both are given.
    """
    out = Output(as_json=as_json)
    meta, requests, events = _read(file)
    if seq is not None:
        out.json(msgspec.to_builtins(_numbered(requests, seq, file)))
        return
    wants_requests = any(each is not None for each in given.values())
    try:
        choice = Choice(ListRequests(**given))
        is_kind = predicate("*" if kind is None else kind, field="kind")
    except Problem as problem:
        raise click.UsageError(problem.detail) from None
    found: list[tuple[float, RequestView | EventView]] = []
    if wants_requests or kind is None:
        found += [(each.received_ms, each) for each in requests if choice.has(each)]
    if kind is not None or not wants_requests:
        found += [(each.at_ms, each) for each in events if is_kind(each.kind)]
    found.sort(key=lambda each: each[0])
    if not as_json:
        out.facts({name: meta[name] for name in _META if name in meta} | _faults(meta))
    for _, each in found if lines is None else found[-lines:]:
        name = "request" if isinstance(each, RequestView) else "event"
        text = as_text(each) if isinstance(each, RequestView) else event_text(each)
        out.line({name: msgspec.to_builtins(each)}, text)


def _read(file: Path) -> tuple[dict[str, Any], list[RequestView], list[EventView]]:
    """Facts of the run, its requests and its events. Raises Refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            return (
                msgspec.json.decode(archive.read("meta.json"), type=dict[str, Any]),
                msgspec.json.Decoder(RequestView).decode_lines(archive.read("requests.jsonl")),
                msgspec.json.Decoder(EventView).decode_lines(archive.read("events.jsonl")),
            )
    except OSError as error:
        raise Refused(f"the trace {file} cannot be read: {error.strerror}") from None
    except (zipfile.BadZipFile, KeyError, msgspec.DecodeError) as error:
        raise Refused(f"{file} is no trace of kafkalite: {error}") from None


def _numbered(requests: list[RequestView], seq: int, file: Path) -> RequestView:
    for each in requests:
        if each.seq == seq:
            return each
    kept = f"{requests[0].seq} to {requests[-1].seq}" if requests else "none"
    raise Refused(f"{file} has no request {seq} (it has {kept})")


def _faults(meta: dict[str, Any]) -> dict[str, str]:
    told = [
        f"{each['rule']['id']}: matched {each['matched']}, applied {each['applied']}"
        for each in meta.get("faults", ())
    ]
    return {"faults": "; ".join(told)} if told else {}


def event_text(event: EventView) -> Text:
    """An event for people: time, kind, what about, why."""
    shown = Text()
    shown.append(moment(event.at_ms), "dim")
    shown.append(f"  {event.kind}", "yellow")
    for name, value in event.about.items():
        shown.append(f"  {name}={safe(str(value))}")
    if event.why:
        shown.append(f"  ({safe(event.why)})")
    return shown
