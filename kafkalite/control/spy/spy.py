"""The spy of one cluster. Off, it is nowhere. On, it keeps frames. It keeps events always."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.control.sightings import Mode
from kafkalite.control.spy.events import Events
from kafkalite.control.spy.ring import Ring

if TYPE_CHECKING:
    from kafkalite.control.cluster import ControlledCluster
    from kafkalite.server.request_handler import RequestHandler


class Spy:
    """Outlives the brokers of its cluster: what was seen before a reset can be seen after it."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        self.mode: Mode = "off"
        self.ring = Ring()
        self.events = Events(lambda: cluster.clock.now_ms())

    def set_mode(self, mode: Mode) -> None:
        """Keep frames from now on, or no longer."""
        if mode != self.mode:
            self.mode = mode
            self._look()

    def attach(self) -> None:
        """Look at the broker that serves now."""
        from kafkalite.control.spy.sources import watch

        watch(self._cluster, self.events)
        if self.mode != "off":
            self._look()

    def _look(self) -> None:
        broker = self._cluster.broker
        if self.mode == "off":
            broker.answer_through(None)
            return
        from kafkalite.control.spy.handler import SpyHandler

        def around(inner: RequestHandler) -> RequestHandler:
            return SpyHandler(inner, self.ring, full=self.mode == "full")

        broker.answer_through(around)
