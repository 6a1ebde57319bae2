"""The nodes of one process over one set of logs: they stop, start again, come and go.

A node is its listeners, their connections, its fetch sessions, and its registration with the
controller. Its replicas are the process': other nodes go on with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafkalite.cluster.cluster import Endpoint
from kafkalite.config.listeners import SECURITY_PROTOCOLS
from kafkalite.requests.slices import WaitingSteps
from kafkalite.server.listener import Listener, open_node_listeners

if TYPE_CHECKING:
    from kafkalite.cluster.sole_controller import SoleController
    from kafkalite.config import BrokerConfig
    from kafkalite.replica.fetch_sessions import FetchSessionCache
    from kafkalite.server.connections import Connections


class Nodes:
    """The nodes, whose `listeners` and `fetch_sessions` are the broker's own.

    They change in steps, as each may be the leader of thousands of partitions; one at a time.

    `new_sessions` makes the fetch sessions of a node that comes, or comes back.
    """

    def __init__(
        self,
        config: BrokerConfig,
        controller: SoleController,
        connections: Connections,
        listeners: list[Listener],
        fetch_sessions: dict[int, FetchSessionCache],
        new_sessions: Callable[[], FetchSessionCache],
    ) -> None:
        self._config = config
        self._controller = controller
        self._connections = connections
        self._listeners = listeners
        self._fetch_sessions = fetch_sessions
        self._new_sessions = new_sessions
        # The ports of nodes that are stopped.
        self._ports: dict[int, list[int]] = {}

    def stopping(self, node_id: int) -> WaitingSteps[None]:
        """Stop one of several nodes, as if its process had died. Its connections are cut and its
        ports refuse others. Other replicas lead its partitions, and coordinate its groups and
        transactions. Raises KeyError if no such node is up.
        """
        if node_id not in self._controller.nodes:
            raise KeyError(node_id)
        self._ports[node_id] = [each.port for each in self._listeners_of(node_id)]
        for listener in self._listeners_of(node_id):
            self._listeners[self._listeners.index(listener)] = listener.at_rest()
        self._connections.cut(node_id)
        self._fetch_sessions[node_id] = self._new_sessions()
        yield from self._controller.fencing(node_id)

    def starting(self, node_id: int) -> WaitingSteps[None]:
        """Start a stopped node again at its addresses, while serving.

        Raises KeyError if it was not stopped, StartError if its port is taken.
        """
        ports = self._ports[node_id]
        for listener, port in zip(self._listeners_of(node_id), ports, strict=True):
            opened = listener.open_again(port)
            self._listeners[self._listeners.index(listener)] = opened
            listener.close()
        del self._ports[node_id]
        yield from self._joining(node_id)

    def adding(self) -> WaitingSteps[int]:
        """Let a new node join, while serving; its id. Raises StartError if its port is taken.

        It holds nothing until topics are created or partitions move there.
        """
        like = self._listeners_of(max(self._with_listeners()))
        opened = open_node_listeners(self._config, self._config.node_ids.stop, like)
        node_id = self._config.add_node()
        self._fetch_sessions[node_id] = self._new_sessions()
        self._listeners += opened
        yield from self._joining(node_id)
        return node_id

    def removing(self, node_id: int) -> WaitingSteps[None]:
        """Stop and unregister a node (KIP-704). Partitions with no other replica have no leader
        then. Raises KeyError if there is no such node,
        ValueError if it is the only one.
        """
        if self._with_listeners() == {node_id}:
            raise ValueError(f"node {node_id} is the only one")
        if node_id in self._controller.nodes:
            yield from self.stopping(node_id)
        del self._ports[node_id]
        for listener in self._listeners_of(node_id):
            self._listeners.remove(listener)
            listener.close()
        self._controller.voters.discard(node_id)
        yield from self._controller.unregistering(node_id)

    def _joining(self, node_id: int) -> WaitingSteps[None]:
        """Register a node; then it takes connections, which its ports hold until then."""
        yield from self._controller.registering(node_id, endpoints(self._listeners)[node_id])
        for listener in self._listeners_of(node_id):
            self._connections.listen_on(listener)

    def _with_listeners(self) -> set[int]:
        return {listener.node_id for listener in self._listeners}

    def _listeners_of(self, node_id: int) -> list[Listener]:
        return [listener for listener in self._listeners if listener.node_id == node_id]


def endpoints(listeners: Iterable[Listener]) -> dict[int, dict[str, Endpoint]]:
    """The addresses that clients are told, by node and listener name."""
    found: dict[int, dict[str, Endpoint]] = {}
    for listener in listeners:
        found.setdefault(listener.node_id, {})[listener.name] = Endpoint(
            listener.advertised_host,
            listener.advertised_port,
            SECURITY_PROTOCOLS[listener.config.security_protocol],
        )
    return found
