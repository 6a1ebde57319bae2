"""Client telemetry in the broker: each node's client instances, and what was pushed to all of them.

Both are made, and imported, when the first request needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from kafkalite.config import ConfigError

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.telemetry.client_instances import ClientInstances
    from kafkalite.telemetry.pushed_metrics import PushedMetrics
    from kafkalite.telemetry.subscriptions import Subscriptions

_RECEIVER: Final = "kafkalite.client.telemetry"


def is_installed() -> bool:
    """True if OpenTelemetry's messages are; all of its packages share the first name."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.proto") is not None


class ClientTelemetry:
    """The telemetry of one broker's clients.

    With `kafkalite.client.telemetry` clients are told that they may push, and what they push is
    kept. Without it both APIs are served, too, as in Kafka without a receiver: pushes are checked
    and thrown away.
    """

    def __init__(self, config: BrokerConfig, cluster: Cluster, now_ms: Callable[[], int]) -> None:
        """Raises ConfigError: there is to be a receiver, and its library is not installed."""
        self.is_received = config.boolean(_RECEIVER)
        if self.is_received and not is_installed():
            raise ConfigError(f"config {_RECEIVER} needs pip install kafkalite[telemetry]")
        self.max_bytes = config.integer("telemetry.max.bytes")
        self._cluster = cluster
        self._now_ms = now_ms
        self._subscriptions: Subscriptions | None = None
        self._instances: dict[int, ClientInstances] = {}
        self._pushed: PushedMetrics | None = None

    def instances(self, node_id: int) -> ClientInstances:
        """The client instances that one node knows."""
        if self._subscriptions is None:
            from kafkalite.telemetry.subscriptions import Subscriptions

            self._subscriptions = Subscriptions(self._cluster)
        if node_id not in self._instances:
            from kafkalite.telemetry.client_instances import ClientInstances

            self._instances[node_id] = ClientInstances(
                self._subscriptions,
                self._now_ms,
                self.max_bytes,
                lambda: self._cluster.ids.uuid("client instance"),
            )
        return self._instances[node_id]

    @property
    def instance_count(self) -> int:
        """The client instances that are known now, on all nodes."""
        return sum(len(instances) for instances in self._instances.values())

    @property
    def pushed(self) -> PushedMetrics:
        if self._pushed is None:
            from kafkalite.telemetry.pushed_metrics import PushedMetrics

            self._pushed = PushedMetrics(self._now_ms)
        return self._pushed

    @property
    def has_pushed(self) -> bool:
        """True once a client pushed something that was kept."""
        return self._pushed is not None
