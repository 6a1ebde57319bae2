"""Brokers of one kind, a process each, under one of Apache Kafka's controllers, as one Broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conformance.harness.quorum import QuorumCluster


class UnderControllers:
    """The brokers of both kinds have the ids from 1 on, so that one can stand for the other."""

    def __init__(
        self,
        kind: str,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        node_count: int = 1,
    ) -> None:
        self.kind = f"{kind} under controllers"
        self.cluster = QuorumCluster(
            directory,
            kafka=node_count if kind == "kafka" else 0,
            kafkalite=node_count if kind == "kafkalite" else 0,
            properties=properties,
            first_kafkalite=1,
        )
        self.bootstrap = self.cluster.bootstrap
        self.data_dir = self.cluster.data(1)

    @property
    def pid(self) -> int:
        return self.cluster.processes[1].popen.pid

    def start(self) -> None:
        """All of them, after `stop` or `kill`."""
        for node_id in self.cluster.nodes:
            self.cluster.start(node_id)
        self.cluster.wait()

    def stop(self) -> int:
        """Brokers first: they ask the controllers to let them go."""
        status = max(self.cluster.stop(node_id) for node_id in self.cluster.brokers)
        self.kill()
        return status

    def kill(self) -> None:
        self.cluster.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def tail(self) -> str:
        return "\n".join(map(self.cluster.tail, self.cluster.brokers))
