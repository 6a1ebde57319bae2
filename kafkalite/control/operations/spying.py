"""Looking at requests and events, and keeping them in a file."""

from __future__ import annotations

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
from kafkalite.control.spy.decoded import viewing
from kafkalite.control.spy.events import Event
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task


async def list_requests(cluster: ControlledCluster, request: ListRequests) -> list[RequestView]:
    """The requests that the spy has kept, the oldest first."""
    return await in_slices_of_task(_listing(cluster, request, Choice(request)))


def _listing(
    cluster: ControlledCluster, request: ListRequests, choice: Choice
) -> WaitingSteps[list[RequestView]]:
    names, times = cluster.broker.services.topics.name_of, cluster.spy.times
    found: list[RequestView] = []
    is_of_last = request.after is None
    for entry in cluster.spy.ring.each(request.after or 0, newest_first=is_of_last):
        if choice.allows(entry):
            view = yield from viewing(entry, names, times, bodies=request.bodies)
            if choice.takes(view):
                found.append(view)
                if len(found) == request.limit:
                    break
        yield None
    return found[::-1] if is_of_last else found


async def show_request(cluster: ControlledCluster, request: RequestNumber) -> RequestView:
    """One request and its answer, decoded."""
    entry = cluster.spy.ring.get(request.seq)
    if entry is None:
        raise not_found("request", request.seq, hint="the oldest go first, and only the spy keeps")
    names, times = cluster.broker.services.topics.name_of, cluster.spy.times
    return await in_slices_of_task(viewing(entry, names, times, bodies=True))


async def forget_requests(cluster: ControlledCluster, request: Nothing) -> Nothing:
    """Forget the requests that the spy has kept. Numbers go on."""
    await in_slices_of_task(cluster.spy.ring.clearing())
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
        await in_slices_of_task(cluster.spy.ring.resizing(request.bytes))
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

    return TraceFile(await trace_of(cluster, with_frames=request.frames))
