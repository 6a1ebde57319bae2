"""Following requests and events as they come: ten looks a second while somebody follows.

A look takes what is new since the last one, and rests ten times as long as it took, at most 2 s:
those who are served go first. Requests that the spy has dropped meanwhile are counted as missed.
For the latest there are four looks a second, each of which rests two hundred times as long, and
leaves out what came too fast: counted, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import ClassVar, Final

import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.faults.criteria import predicate
from kafkalite.control.operations.spying import event_view
from kafkalite.control.sightings import Follow, Sighting
from kafkalite.control.spy.choice import Choice
from kafkalite.control.spy.commits import SECOND_NS
from kafkalite.control.spy.decoded import viewing
from kafkalite.control.spy.ring import Entry
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.slices import SLICE_SECONDS, WaitingSteps

_LOOK_SECONDS: Final = 0.1
_LOOK_SECONDS_OF_LATEST: Final = 0.25
_REST: Final = 10
_REST_OF_LATEST: Final = 200
_MOST_REST_SECONDS: Final = 2.0
# The most sightings in one batch.
MOST_AT_ONCE: Final = 2000
# To decode those of a bulk load takes less than a hundredth of the longest rest.
MOST_LATEST: Final = 200

_Found = Sighting | Callable[[], None] | None


async def follow(cluster: ControlledCluster, request: Follow) -> Following:
    """Requests and events as they come, as server-sent events.

    A client that lost its connection goes on where it was by Last-Event-ID, or `after`; it may see
    a request again then. Requests are there while the spy is on.
    """
    return Following(cluster, request)


class Following:
    """One client's way through what comes: `batch` again and again."""

    message: ClassVar[type[Sighting]] = Sighting

    def __init__(self, cluster: ControlledCluster, request: Follow) -> None:
        """Raises Problem for criteria that cannot be met."""
        self._cluster = cluster
        self._ring, self._events = cluster.spy.ring, cluster.spy.events
        self._choice = Choice(request)
        self._is_kind = None if request.kind is None else predicate(request.kind, field="kind")
        self._request = request
        self._left = request.limit
        self._seq, self._event = self._ring.last_seq, self._events.last_seq
        if request.after is not None:
            seq, _, event = request.after.partition("-")
            # Numbers of another process' life begin anew.
            self._seq, self._event = min(self._seq, int(seq)), min(self._event, int(event))
        # The last request that had come at the look before.
        self._last_seq = self._ring.last_seq
        # Requests that have come and are not answered yet.
        self._waiting: list[int] = []
        self._rest_seconds = 0.0

    @property
    def is_over(self) -> bool:
        """Tells whether there will be no more: the limit is reached, or the cluster has ended."""
        return self._left == 0 or self._cluster.ended.is_set()

    async def batch(self) -> list[Sighting]:
        """The sightings since the last time, after a while; there may be none."""
        look = _LOOK_SECONDS_OF_LATEST if self._request.latest else _LOOK_SECONDS
        await trio.sleep(max(look, self._rest_seconds))
        found: list[Sighting] = []
        worked, since = 0.0, perf_counter()
        for sighting in self._new():
            if callable(sighting):
                worked += perf_counter() - since
                await in_disk_thread(sighting)
                since = perf_counter()
            elif sighting is not None:
                found.append(sighting)
                if self._left is not None:
                    self._left -= 1
            if self.is_over or len(found) == MOST_AT_ONCE:
                break
            if perf_counter() > since + SLICE_SECONDS:
                worked += perf_counter() - since
                await trio.lowlevel.checkpoint()
                since = perf_counter()
        worked += perf_counter() - since
        rest = _REST_OF_LATEST if self._request.latest else _REST
        self._rest_seconds = min(_MOST_REST_SECONDS, rest * worked)
        return found

    def _new(self) -> Iterator[_Found]:
        """Everything new; None where nothing came of some work, and work for a thread."""
        if self._request.what != "events":
            yield from self._answered()
            yield from self._come()
        if self._request.what != "requests":
            yield from self._happened()

    def _answered(self) -> Iterator[_Found]:
        """Requests that had to wait, and are answered."""
        for seq in list(self._waiting):
            entry = self._ring.get(seq)
            if entry is None:
                self._waiting.remove(seq)
            elif entry.outcome != "waiting":
                self._waiting.remove(seq)
                yield (yield from self._seen(entry))

    def _come(self) -> Iterator[_Found]:
        """Requests that have come."""
        first = self._ring.first_seq or self._ring.last_seq + 1
        last, self._last_seq = self._last_seq, self._ring.last_seq
        if self._request.latest and self._last_seq > last + MOST_LATEST:
            first = self._last_seq + 1 - MOST_LATEST
        if missed := max(0, first - 1 - self._seq):
            self._seq += missed
            yield Sighting(id=self._id(), missed=missed)
        for entry in self._ring.after(self._seq, MOST_AT_ONCE):
            self._seq = entry.seq
            if not self._choice.allows(entry):
                yield None
                continue
            is_waiting = entry.outcome == "waiting"
            if is_waiting:
                self._waiting.append(entry.seq)
            is_wanted = self._request.waiting or not is_waiting
            yield (yield from self._seen(entry)) if is_wanted else None

    def _seen(self, entry: Entry) -> WaitingSteps[Sighting | None]:
        names, times = self._cluster.broker.services.topics.name_of, self._cluster.spy.times
        view = yield from viewing(entry, names, times, bodies=self._request.bodies)
        return Sighting(id=self._id(), request=view) if self._choice.takes(view) else None

    def _happened(self) -> Iterator[Sighting | None]:
        self._cluster.spy.commits.settle(SECOND_NS)
        for event in self._events.after(self._event):
            if missed := event.seq - 1 - self._event:
                self._event += missed
                yield Sighting(id=self._id(), missed=missed)
            self._event = event.seq
            is_wanted = self._is_kind is None or self._is_kind(event.kind)
            yield Sighting(id=self._id(), event=event_view(event)) if is_wanted else None

    def _id(self) -> str:
        """The place after which all that is still to come is found again."""
        seq = min(self._waiting) - 1 if self._waiting else self._seq
        return f"{seq}-{self._event}"
