"""The spy of one cluster. Off, it is nowhere. On, it keeps frames. It keeps events always."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.control.sightings import Mode
from kafkalite.control.spy.cluster_times import ClusterTimes
from kafkalite.control.spy.commits import Commits
from kafkalite.control.spy.events import Events
from kafkalite.control.spy.ring import Ring

if TYPE_CHECKING:
    from kafkalite.broker import Broker
    from kafkalite.control.cluster import ControlledCluster
    from kafkalite.control.recording import Tape
    from kafkalite.control.spy.traffic import Counts
    from kafkalite.server.request_handler import RequestHandler


class Begun(NamedTuple):
    """A recording that goes on: the data at its beginning as a tar file, and what came since."""

    data: bytes
    tape: Tape
    broker: Broker


class Spy:
    """Outlives the brokers of its cluster: what was seen before a reset can be seen after it."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        self.mode: Mode = "off"
        self.ring = Ring()
        self.events = Events(lambda: cluster.clock.now_ms())
        self.commits = Commits(self.events.put)
        self.times = ClusterTimes()
        self._tape: Ring | None = None
        self._next_tape: Ring | None = None
        self.recording: Begun | None = None
        # While somebody counts: what is counted, and how many do.
        self._counts: Counts | None = None
        self._countings = 0

    @contextmanager
    def counting(self) -> Generator[Counts]:
        """Requests and bytes are counted within."""
        from kafkalite.control.spy.traffic import Counts

        counts = self._counts
        if counts is None:
            counts = self._counts = Counts()
            self._look()
        self._countings += 1
        try:
            yield counts
        finally:
            self._countings -= 1
            if not self._countings:
                self._counts = None
                self._look()

    def set_mode(self, mode: Mode) -> None:
        """Keep frames from now on, or no longer."""
        if mode != self.mode:
            self.mode = mode
            self._look()

    def record_on(self, tape: Ring | None) -> None:
        """Keep all frames on this tape too, or on none."""
        self._tape = tape
        self._look()

    def record_next(self, tape: Ring) -> None:
        """Keep all frames of the next broker on this tape."""
        self._next_tape = tape

    def attach(self) -> None:
        """Look at the broker that serves now."""
        from kafkalite.control.spy.sources import watch

        self.commits.settle()
        watch(self._cluster, self.events)
        clock = self._cluster.clock
        self.times.note(clock)
        clock.subscribe(lambda: self.times.note(clock))
        self._tape, self._next_tape = self._next_tape, None
        if self.mode != "off" or self._tape is not None or self._counts is not None:
            self._look()

    def _look(self) -> None:
        broker = self._cluster.broker
        tape, counts = self._tape, self._counts
        if self.mode == "off" and tape is None and counts is None:
            broker.answer_through(None)
            return
        from kafkalite.control.spy.handler import SpyHandler, TapeHandler
        from kafkalite.control.spy.traffic import CountingHandler

        def around(inner: RequestHandler) -> RequestHandler:
            if counts is not None:
                inner = CountingHandler(inner, counts)
            if tape is not None:
                inner = TapeHandler(inner, tape, full=True)
            if self.mode == "off":
                return inner
            return SpyHandler(inner, self.ring, full=self.mode == "full")

        broker.answer_through(around)
