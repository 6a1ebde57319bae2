"""The metrics of one broker, put together: what is counted, what is looked up, and who may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from kafkalite.background import in_pieces
from kafkalite.metrics.event_loop import watch
from kafkalite.metrics.exposition import Exposition
from kafkalite.metrics.readings import Distribution, Readings
from kafkalite.metrics.requests import RequestMetrics
from kafkalite.metrics.server import metrics_server
from kafkalite.metrics.state import read
from kafkalite.server.listener import begin, bind, joined, local_address
from kafkalite.supervision import supervised

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkalite.server.connections import Connections
    from kafkalite.services import Services


_PURPOSE: Final = "metrics (kafkalite.metrics.port)"


class MetricsEndpoint:
    """Bound when made (raises StartError), served from `start` on.

    A port that was given listens only then, as the broker's own: a probe is refused, and does not
    wait, while the data are opened.
    """

    def __init__(
        self,
        services: Callable[[], Services],
        connections: Callable[[], Connections],
        longest_turn_seconds: Callable[[], float],
        is_ready: Callable[[], bool],
        host: str,
        port: int,
    ) -> None:
        """`services` is called once requests can come, when there are services."""
        self._services = services
        self._connections = connections
        self._longest_turn_seconds = longest_turn_seconds
        self._is_ready = is_ready
        self.requests = RequestMetrics()
        self._lag = Distribution()
        self._exposition = Exposition()
        self._one_at_a_time = trio.CapacityLimiter(1)
        self._socket = bind(host, port, _PURPOSE, listens=not port)

    @property
    def url(self) -> str:
        """The address for Prometheus."""
        return f"http://{joined(*local_address(self._socket))}/metrics"

    def start(self, nursery: trio.Nursery) -> None:
        """Serve in a task, for ever; there must be something to tell. Raises StartError."""
        begin(self._socket, _PURPOSE)
        nursery.start_soon(supervised, "metrics", self._serve)

    async def _serve(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, self._lag)
            nursery.start_soon(metrics_server(self._render, self._is_ready).serve, self._socket)

    def close(self) -> None:
        self._socket.close()

    async def _render(self, accept: str) -> tuple[bytes, str]:
        """Everything, as text: looked up here in slices, written in a thread that sees only
        values."""
        async with self._one_at_a_time:
            readings = Readings()
            services = self._services()
            self.requests.read(services.topics, readings)
            connections = self._connections()
            readings.put("kafkalite_connections", len(connections))
            logins = connections.logins
            readings.put("kafkalite_successful_authentication_total", logins.successful)
            readings.put("kafkalite_failed_authentication_total", logins.failed)
            readings.put_distribution("kafkalite_event_loop_lag_seconds", self._lag)
            longest = self._longest_turn_seconds()
            readings.put("kafkalite_event_loop_longest_turn_seconds", longest)
            await in_pieces(read(services, readings))
            return await trio.to_thread.run_sync(self._exposition.text, readings, accept)
