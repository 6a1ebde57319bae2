"""A report of a cluster for a test that has failed: what happened last, and how it stands now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from kafkalite.client.kit import Kit
from kafkalite.control.answers import FaultView, GroupView
from kafkalite.control.sightings import EventView, RequestView

LAST_LINES: Final = 40


def report(kit: Kit, lines: int = LAST_LINES) -> str:
    """The last events and requests in the order of time, unfired faults, groups and their lag."""
    events = [(each.at_ms, event_line(each)) for each in kit.events(limit=lines)]
    found: list[RequestView] = kit.ask("requests.list", limit=lines)
    requests = [(each.received_ms, request_line(each)) for each in found]
    parts = [f"{_time(at_ms)}  {line}" for at_ms, line in sorted([*events, *requests])[-lines:]]
    parts += [line for fault in kit.faults.list() for line in fault_lines(fault)]
    parts += kit.faults.unfired()
    parts += [line for group in kit.groups() for line in group_lines(group)]
    return "\n".join(parts)


def _time(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]


def event_line(event: EventView) -> str:
    """An event in one line."""
    about = " ".join(f"{name}={value}" for name, value in event.about.items())
    why = f": {event.why}" if event.why else ""
    return f"{event.kind} {about}{why}"


def request_line(request: RequestView) -> str:
    """A request and what became of it in one line."""
    return " ".join(_request_words(request))


def _request_words(request: RequestView) -> Iterator[str]:
    yield f"#{request.seq} {request.api} v{request.version} of {request.client_id or 'a client'}"
    yield f"at {request.connection}"
    if request.topics:
        yield f"about {', '.join(request.topics)}"
    yield f"-> {request.error or request.outcome}"
    if request.answered_ms is not None:
        yield f"after {request.answered_ms - request.received_ms:.1f} ms"
    if request.fault is not None:
        yield f"by fault {request.fault}"
    if request.why:
        yield f"({request.why})"


def fault_lines(fault: FaultView) -> Iterator[str]:
    """A fault that was applied, and to what first: the line of it may be none of the last."""
    if fault.hits:
        hit, times = fault.hits[0], "once" if fault.applied == 1 else f"{fault.applied} times"
        what = f"{', '.join(hit.did)} to {hit.api} of {hit.client_id or hit.connection}"
        yield f"fault {fault.rule.id} was applied {times}, at {_time(hit.at_ms)}: {what}"


def group_lines(group: GroupView) -> Iterator[str]:
    """A group, and how far it is behind in each partition."""
    members = ", ".join(f"{each.client_id} at {each.client_host}" for each in group.members)
    yield f"group {group.id} is {group.state}, generation {group.generation}: {members or 'empty'}"
    for offset in group.offsets:
        yield f"  {offset.topic}-{offset.partition} at {offset.offset}, lag {offset.lag}"
