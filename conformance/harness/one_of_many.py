"""A cluster of brokers under Apache Kafka's controller, of which one is killed at a time."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

from conformance.harness.quorum import PROGRAM, QuorumCluster

PROPERTIES = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "5000",
}


class OneOfMany:
    """`kill` kills the next broker, one after the other, and `start` starts it again.

    `kafka` of the brokers are Apache Kafka's, the others kafkalite's.
    """

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str],
        node_count: int,
        kafka: int = 0,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._cluster = QuorumCluster(
            directory,
            kafka=kafka,
            kafkalite=node_count - kafka,
            properties={**PROPERTIES, **properties},
            program=program,
            linked=True,
        )
        self._turns = cycle(self._cluster.brokers)
        self._killed = next(self._turns)

    @property
    def bootstrap(self) -> str:
        """All brokers, for clients."""
        return self._cluster.bootstrap

    def kill(self) -> None:
        """SIGKILL."""
        self._killed = next(self._turns)
        self._cluster.kill(self._killed)

    def start(self) -> None:
        """Start the one that was killed; back when it knows all others."""
        self._cluster.start(self._killed)
        self._cluster.wait([self._killed])

    def trouble(self, chance: random.Random) -> str:
        """Kill the controllers, or part a broker from the others, for a while; what was done."""
        if chance.random() < 0.5:
            for node_id in self._cluster.controllers:
                self._cluster.kill(node_id)
            time.sleep(chance.uniform(0, 3))
            for node_id in self._cluster.controllers:
                self._cluster.start(node_id)
            return "controllers killed"
        links = self._cluster.links
        assert links is not None
        parted = chance.choice(sorted(self._cluster.brokers))
        is_unheard, is_deaf = chance.choice([(True, True), (True, False), (False, True)])
        links.part(parted, is_unheard=is_unheard, is_deaf=is_deaf)
        time.sleep(chance.uniform(0.5, 8))
        links.join()
        return "broker parted"

    def close(self) -> None:
        """End all."""
        self._cluster.close()
