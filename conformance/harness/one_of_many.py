"""A cluster of brokers under Apache Kafka's controller, of which one is killed at a time."""

from __future__ import annotations

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

    def close(self) -> None:
        """End all."""
        self._cluster.close()
