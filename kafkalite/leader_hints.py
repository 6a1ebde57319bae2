"""Who leads instead: the tagged fields of Produce v10 and Fetch v16 that save a Metadata (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkalite.cluster import Cluster


class LeaderEndpoint(NamedTuple):
    """A node, as NodeEndpoint of the two messages has it."""

    node_id: int
    host: str
    port: int
    rack: str | None


def endpoints_of(
    cluster: Cluster, node_ids: Iterable[int], listener_name: str
) -> list[LeaderEndpoint]:
    """Where those of the nodes that live are reached by the listener that was asked."""
    found: list[LeaderEndpoint] = []
    for node_id in sorted(node_ids):
        node = cluster.nodes.get(node_id)
        endpoint = node and node.endpoints.get(listener_name)
        if node and endpoint:
            found.append(LeaderEndpoint(node_id, endpoint.host, endpoint.port, node.rack))
    return found
