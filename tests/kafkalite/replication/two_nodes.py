"""A leader and a follower of one topic in one process, and a network between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import trio

from kafkalite.log.config import LogConfig
from kafkalite.log.opening import open_log
from kafkalite.peers.link import Address
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.replication.replicas import Replicas
from kafkalite.replication.throttle import Throttle, Throttles
from tests.kafkalite.replication.model_controller import TOPIC, TOPIC_ID
from tests.kafkalite.replication.one_replica import LED, View, batch
from tests.kafkalite.replication.serving import Serving
from tests.kafkalite.replication.virtual_network import Network

LEADER, FOLLOWER = 1, 2
CONFIG = ReplicationConfig(max_lag_seconds=2.0, fetch_backoff_seconds=0.3, socket_timeout_seconds=2)


class Known:
    """Both brokers are registered, in epoch 1."""

    def registered_epoch(self, broker_id: int) -> int | None:
        return 1

    known_epoch = registered_epoch


@dataclass
class Node:
    """A broker's replicas, and who answers its followers."""

    replicas: Replicas
    root: Path
    serving: Serving

    def replica(self, index: int = 0) -> Replica:
        """The replica of a partition, made at first use."""
        found = self.replicas.get(TOPIC_ID, index)
        if found is None:
            log = open_log(self.root / f"{TOPIC}-{index}", LogConfig(), now_ms=lambda: 0)
            found = Replica(self.replicas, TOPIC, TOPIC_ID, index, log, self.serving.notify)
            self.replicas.add(found)
        return found

    def write(self, *values: bytes, index: int = 0) -> None:
        """Append as the leader."""
        replica = self.replica(index)
        replica.log.append(batch(*values), leader_epoch=replica.leader_epoch)
        replica.appended()
        self.serving.notify()


class TwoNodes:
    """`asked` are the proposals; nothing comes of them. `rate` is that of both throttles."""

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        self.network = Network(Random(1), nursery)
        self.asked: list[object] = []
        self.rate = inf
        self.leader = self._node(root, LEADER)
        self.follower = self._node(root, FOLLOWER)
        self.network.serve(LEADER, self.leader.serving.serve)

    def _node(self, root: Path, node_id: int) -> Node:
        replicas = Replicas(
            node_id,
            brokers=Known(),
            broker_epoch=lambda: 1,
            address_of=lambda other: Address("", other),
            ask_controller=self._ask,
            config=CONFIG,
            throttles=Throttles(Throttle(lambda: self.rate), Throttle(lambda: self.rate)),
            connect=self.network.connect_from(node_id),
        )
        serving = Serving(lambda index: replicas.get(TOPIC_ID, index))
        return Node(replicas, root / str(node_id), serving)

    async def _ask(self, body: object) -> Any:
        self.asked.append(body)
        await trio.sleep_forever()

    def change(self, index: int = 0, view: View = LED) -> None:
        """Both take in the metadata."""
        for node in (self.leader, self.follower):
            node.replica(index).change(view)


@asynccontextmanager
async def two_nodes(root: Path) -> AsyncIterator[TwoNodes]:
    """Neither of the nodes' tasks runs yet."""
    async with trio.open_nursery() as nursery:
        yield TwoNodes(root, nursery)
        nursery.cancel_scope.cancel()
