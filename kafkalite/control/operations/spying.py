"""Looking at requests and events, and keeping them in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.faults.criteria import predicate
from kafkalite.control.problems import not_found
from kafkalite.control.questions import Nothing
from kafkalite.control.sightings import (
    EventView,
    ListEvents,
    ListRequests,
    RequestNumber,
    RequestView,
    SaveTrace,
    SetSpy,
    SpyView,
    TraceFile,
)
from kafkalite.control.spy.choice import Choice
from kafkalite.control.spy.decoded import view_of
from kafkalite.control.spy.events import Event
from kafkalite.control.spy.ring import Entry
from kafkalite.requests.slices import SLICE_SECONDS


async def list_requests(cluster: ControlledCluster, request: ListRequests) -> list[RequestView]:
    """The requests that the spy has kept, the oldest first."""
    ring = cluster.spy.ring
    entries: Sequence[Entry] = ring.after(request.after or 0)
    choice = Choice(request)
    found: list[RequestView] = []
    if request.after is None:
        entries = entries[::-1]
    # The spy decodes what others did not wait for: they go first.
    await trio.lowlevel.checkpoint()
    until = perf_counter() + SLICE_SECONDS
    for entry in entries:
        if choice.allows(entry):
            view = view_of(
                entry,
                cluster.broker.services.topics.name_of,
                cluster.spy.times,
                bodies=request.bodies,
            )
            if choice.takes(view):
                found.append(view)
                if len(found) == request.limit:
                    break
        if perf_counter() > until:
            await trio.lowlevel.checkpoint()
            until = perf_counter() + SLICE_SECONDS
    return found if request.after is not None else found[::-1]


async def show_request(cluster: ControlledCluster, request: RequestNumber) -> RequestView:
    """One request and its answer, decoded."""
    entry = cluster.spy.ring.get(request.seq)
    if entry is None:
        raise not_found("request", request.seq, hint="the oldest go first, and only the spy keeps")
    names, times = cluster.broker.services.topics.name_of, cluster.spy.times
    if entry.size < 65_536:
        return view_of(entry, names, times, bodies=True)
    return await trio.to_thread.run_sync(lambda: view_of(entry, names, times, bodies=True))


async def forget_requests(cluster: ControlledCluster, request: Nothing) -> Nothing:
    """Forget the requests that the spy has kept. Numbers go on."""
    cluster.spy.ring.clear()
    return Nothing()


async def show_spy(cluster: ControlledCluster, request: Nothing) -> SpyView:
    """The mode of the spy, and how much it keeps."""
    spy = cluster.spy
    return SpyView(
        mode=spy.mode,
        bytes=spy.ring.most_bytes,
        used_bytes=spy.ring.used_bytes,
        requests=len(spy.ring),
        first=spy.ring.first_seq,
        last=spy.ring.last_seq,
        events=len(spy.events),
    )


async def set_spy(cluster: ControlledCluster, request: SetSpy) -> SpyView:
    """Keep requests and answers from now on, or no longer; "full": with all their bytes."""
    if request.bytes is not None:
        cluster.spy.ring.resize(request.bytes)
    cluster.spy.set_mode(request.mode)
    return await show_spy(cluster, Nothing())


async def list_events(cluster: ControlledCluster, request: ListEvents) -> list[EventView]:
    """Changes of the cluster's state, each with its reason, the oldest first."""
    is_kind = None if request.kind is None else predicate(request.kind, field="kind")
    cluster.spy.commits.settle()
    found = [
        event
        for event in cluster.spy.events.after(request.after or 0)
        if is_kind is None or is_kind(event.kind)
    ]
    chosen = found[-request.limit :] if request.after is None else found[: request.limit]
    return [event_view(each) for each in chosen]


def event_view(event: Event) -> EventView:
    """An event as it is shown."""
    return EventView(
        seq=event.seq,
        at_ms=event.at_ns / 1e6,
        cluster_ms=event.cluster_ms,
        kind=event.kind,
        about=event.about,
        why=event.why,
    )


async def save_trace(cluster: ControlledCluster, request: SaveTrace) -> TraceFile:
    """A ZIP file with events, requests and their answers: to be looked at elsewhere."""
    from kafkalite.control.spy.trace import trace_of

    names, times = cluster.broker.services.topics.name_of, cluster.spy.times

    def views() -> Iterator[RequestView]:
        return (view_of(entry, names, times, bodies=True) for entry in cluster.spy.ring)

    return TraceFile(await trace_of(cluster, views(), with_frames=request.frames))
