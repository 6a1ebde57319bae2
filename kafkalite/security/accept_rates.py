"""The pace at which connections are accepted: `max.connection.creation.rate` (KIP-612).

    of the node        over all of its listeners but the one for brokers, if there are others
    of a listener      `listener.name.<name>.max.connection.creation.rate`, else the same number

A connection that comes too early waits, and with it the others of its listener.
Source: Kafka's ConnectionQuotas.
"""

from __future__ import annotations

from kafkalite.config import BrokerConfig
from kafkalite.config.connection_limits import ALL_LISTENERS, RATE, limit_of, protected_listener
from kafkalite.security.rates import Rate, Window

# The name that stands for all listeners of a node.


class AcceptRates:
    """The rates of all nodes and listeners of a broker."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._window = Window(
            config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * 1000
        )
        self._limits: dict[tuple[int, str], int] = {}
        self._rates: dict[tuple[int, str], Rate] = {}
        config.subscribe(self._limits.clear)
        self._of_brokers = protected_listener(config)

    def wait_ms(self, node_id: int, listener: str, now_ms: int) -> int:
        """Count a connection; the time until it is accepted, at most a window."""
        return max(self._recorded(key, 1.0, now_ms) for key in self._keys(node_id, listener))

    def take_back(self, node_id: int, listener: str, now_ms: int) -> None:
        """Count a connection no more: it was turned away for the quota of its address."""
        for key in self._keys(node_id, listener):
            self._recorded(key, -1.0, now_ms)

    def _keys(self, node_id: int, listener: str) -> list[tuple[int, str]]:
        keys = [(node_id, listener)]
        if listener != self._of_brokers:
            keys.append((node_id, ALL_LISTENERS))
        return keys

    def _recorded(self, key: tuple[int, str], value: float, now_ms: int) -> int:
        rate = self._rates.setdefault(key, Rate(self._window))
        rate.record(value, now_ms)
        return rate.throttle_ms(self._limit(*key), now_ms, self._window.size_ms)

    def _limit(self, node_id: int, listener: str) -> int:
        found = self._limits.get((node_id, listener))
        if found is None:
            found = limit_of(self._config, RATE, node_id, listener)
            self._limits[node_id, listener] = found
        return found
