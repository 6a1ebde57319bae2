"""The connections that are open, counted by node, listener and address, and held to their limits.

The listener of brokers has its own limit alone: it is let in where the node is full, and one of
another listener goes for it (KIP-402). Source: Kafka's ConnectionQuotas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.config.connection_limits import (
    ALL_LISTENERS,
    MOST,
    OVERRIDES,
    PER_ADDRESS,
    QUEUED,
    address_overrides,
    limit_of,
    protected_listener,
)
from kafkalite.config.definition import ConfigError
from kafkalite.log.loggers import logger_of
from kafkalite.requests.hosts import addresses_of

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.server.connection import Connection
    from kafkalite.server.frame_memory import FrameMemory
    from kafkalite.server.listener import Listener

logger = logger_of(__name__)

# All listeners of a node.
_NO_ADDRESS: Final = "%s: %s has no address"


class ConnectionCounts:
    """The counts of all nodes, listeners and addresses, and their limits."""

    def __init__(self, config: BrokerConfig) -> None:
        """Raises ConfigError if a host that is to have its own limit has no address."""
        self._config = config
        self._of_listener: Counter[tuple[int, str]] = Counter()
        self._of_host: Counter[tuple[int, str]] = Counter()
        self._protected = protected_listener(config)
        self._limits: dict[tuple[int, str], int] = {}
        self._overrides: dict[int, dict[str, int]] = {}
        # The addresses of hosts with a limit of their own; "" for a host without any.
        self._addresses: dict[str, str] = {}
        self._addresses = addresses_of(self.unknown_hosts())
        for host in self._addresses:
            if not self._addresses[host]:
                raise ConfigError(_NO_ADDRESS % (OVERRIDES, host))
        # By node; none without queued.max.request.bytes.
        self._frame_memory: dict[int, FrameMemory] = {}
        most_bytes = config.integer(QUEUED)
        if most_bytes > 0:
            from kafkalite.server.frame_memory import FrameMemory

            self._frame_memory = {node_id: FrameMemory(most_bytes) for node_id in config.node_ids}

    def __len__(self) -> int:
        return self._of_host.total()

    def look_again(self) -> None:
        """The limits may be others now."""
        self._limits.clear()
        self._overrides.clear()

    def add(self, connection: Connection) -> None:
        """Count one that was opened."""
        listener = connection.listener
        if self._frame_memory:
            connection.claim_from(self._frame_memory[listener.node_id])
        self._of_listener[listener.node_id, listener.name] += 1
        self._of_listener[listener.node_id, ALL_LISTENERS] += 1
        self._of_host[listener.node_id, connection.client_host] += 1

    def remove(self, connection: Connection) -> None:
        """Count one that was closed no more."""
        listener = connection.listener
        self._of_listener[listener.node_id, listener.name] -= 1
        self._of_listener[listener.node_id, ALL_LISTENERS] -= 1
        key = (listener.node_id, connection.client_host)
        self._of_host[key] -= 1
        if not self._of_host[key]:
            del self._of_host[key]

    def is_full(self, listener: Listener) -> bool:
        """True while a listener's clients have to wait."""
        node_id, name = listener.node_id, listener.name
        if self._of_listener[node_id, name] >= self._limit(node_id, name):
            return True
        return name != self._protected and self._excess(node_id) >= 0

    def too_many(self, connections: Iterable[Connection], most: int) -> list[Connection]:
        """Up to `most` connections to close: on nodes above their limit, the longest silent.

        The listener of brokers keeps its own.
        """
        excess = {
            node_id: count
            for node_id, name in self._of_listener
            if name == ALL_LISTENERS and (count := self._excess(node_id)) > 0
        }
        found: list[Connection] = []
        for node_id, count in excess.items():
            candidates = (
                each
                for each in connections
                if each.listener.node_id == node_id and each.listener.name != self._protected
            )
            found += nsmallest(min(count, most), candidates, key=lambda each: each.last_active)
        return found[:most]

    def _excess(self, node_id: int) -> int:
        return self._of_listener[node_id, ALL_LISTENERS] - self._limit(node_id, ALL_LISTENERS)

    def _limit(self, node_id: int, name: str) -> int:
        found = self._limits.get((node_id, name))
        if found is None:
            found = limit_of(self._config, MOST, node_id, name)
            self._limits[node_id, name] = found
        return found

    # Addresses

    def of_host(self, host: str, node_id: int) -> int:
        """The number of an address's connections to a node."""
        return self._of_host[node_id, host]

    def most_from(self, host: str, node_id: int) -> int:
        """The limit of an address's connections to a node."""
        found = self._overrides.get(node_id)
        if found is None:
            named = address_overrides(self._config.string(OVERRIDES, node_id) or "")
            found = {self._addresses.get(name, name): most for name, most in named.items()}
            self._overrides[node_id] = found
        if host in found:
            return found[host]
        return self._config.integer(PER_ADDRESS, node_id)

    def unknown_hosts(self) -> set[str]:
        """The hosts that limits name, and whose addresses are not known yet."""
        texts = {self._config.string(OVERRIDES, node_id) or "" for node_id in self._config.node_ids}
        named = {name for text in texts for name in address_overrides(text)}
        return named - self._addresses.keys()

    async def look_up(self, hosts: Iterable[str]) -> None:
        """Find the addresses of hosts; an error is logged for one that has none."""
        found = await trio.to_thread.run_sync(addresses_of, hosts, abandon_on_cancel=True)
        for host in [host for host, address in found.items() if not address]:
            logger.error(_NO_ADDRESS, OVERRIDES, host)
        self._addresses.update(found)
        self._overrides.clear()
