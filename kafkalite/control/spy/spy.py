"""The spy of one cluster. Off, it is nowhere. On, it keeps frames. It keeps events always."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkalite.control.sightings import Mode
from kafkalite.control.spy.events import Events
from kafkalite.control.spy.ring import Ring

if TYPE_CHECKING:
    from kafkalite.broker import Broker
    from kafkalite.control.cluster import ControlledCluster
    from kafkalite.control.recording import Tape
    from kafkalite.server.request_handler import RequestHandler


@dataclass(frozen=True, slots=True)
class Begun:
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
        self._tape: Ring | None = None
        self._next_tape: Ring | None = None
        self.recording: Begun | None = None

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

        watch(self._cluster, self.events)
        self._tape, self._next_tape = self._next_tape, None
        if self.mode != "off" or self._tape is not None:
            self._look()

    def _look(self) -> None:
        broker = self._cluster.broker
        tape = self._tape
        if self.mode == "off" and tape is None:
            broker.answer_through(None)
            return
        from kafkalite.control.spy.handler import SpyHandler, TapeHandler

        def around(inner: RequestHandler) -> RequestHandler:
            if tape is not None:
                inner = TapeHandler(inner, tape, full=True)
            if self.mode == "off":
                return inner
            return SpyHandler(inner, self.ring, full=self.mode == "full")

        broker.answer_through(around)
