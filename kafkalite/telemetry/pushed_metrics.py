"""The metrics that clients pushed: each gauge as it was pushed last, each sum added up.

A client's metrics stay until it has been silent for three push intervals. They outlive its
connection, as a scraper may come later than the last push of a client that ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkalite.telemetry.otlp import PointKind, read_points
from kafkalite.telemetry.series import Series

if TYPE_CHECKING:
    from kafkalite.requests.slices import Steps

# The attributes of its client instance that each series of a client has as labels.
_LABELS: Final = ("client_id", "client_instance_id")
# The most memory that all series may take; the clients that are silent for longest go first.
_MOST_BYTES: Final = 64 << 20


@dataclass(slots=True)
class PushedByClient:
    """The metrics of one client. `attributes` are those of its client instance."""

    attributes: Mapping[str, str]
    gauges: dict[Series, float] = field(default_factory=dict[Series, float])
    sums: dict[Series, float] = field(default_factory=dict[Series, float])
    sum_bytes: int = 0
    counted_bytes: int = 0
    expires_at_ms: int = 0


class PushedMetrics:
    """The metrics of all clients of all nodes."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        # The client that has been silent for longest comes first.
        self._clients: OrderedDict[str, PushedByClient] = OrderedDict()
        self._bytes = 0

    def receive(
        self, attributes: Mapping[str, str], data: bytes, expires_at_ms: int
    ) -> Steps[None]:
        """Take a push of the client with these attributes; its metrics stay until it expires.

        Raises KafkaError(INVALID_RECORD), and takes nothing then.
        """
        labels = {name: attributes[name] for name in _LABELS}
        points = yield from read_points(data, labels)
        key = attributes["client_instance_id"]
        client = self._clients.setdefault(key, PushedByClient(attributes))
        client.expires_at_ms = expires_at_ms
        gauges: dict[Series, float] = {}
        gauge_bytes = 0
        for series, kind, value in points:
            if kind is PointKind.GAUGE:
                gauges[series] = value
                gauge_bytes += series.size_bytes
            else:
                if series not in client.sums:
                    client.sum_bytes += series.size_bytes
                before = client.sums.get(series, 0.0) if kind is PointKind.INCREASE else 0.0
                client.sums[series] = before + value
            yield
        client.gauges = gauges
        self._keep(key, client, gauge_bytes + client.sum_bytes)

    def _keep(self, key: str, client: PushedByClient, size_bytes: int) -> None:
        """Put the client last among those to be forgotten, and forget the first if need be."""
        known = self._clients.pop(key, None)
        self._bytes += size_bytes - (0 if known is None else known.counted_bytes)
        client.counted_bytes = size_bytes
        self._clients[key] = client
        while self._bytes > _MOST_BYTES:
            self._forget(next(iter(self._clients)))

    def __iter__(self) -> Iterator[PushedByClient]:
        """The clients that are still heard of. It forgets the others."""
        now_ms = self._now_ms()
        for key, client in list(self._clients.items()):
            if client.expires_at_ms > now_ms:
                yield client
            elif key in self._clients:
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._bytes -= self._clients.pop(key).counted_bytes
