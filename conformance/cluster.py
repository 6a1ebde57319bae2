"""A cluster on this machine until Ctrl-C: `python -m conformance.cluster`, or `make cluster`.

Apache Kafka's controllers run from their jars, the brokers are kafkalite's, and Apache Kafka's if
asked for. Everything lies in a directory that is kept if it is named.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from conformance.harness.quorum import QuorumCluster


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.cluster")
    parser.add_argument("--controllers", type=int, default=1)
    parser.add_argument("--kafkalite", type=int, default=3, help="brokers of kafkalite")
    parser.add_argument("--kafka", type=int, default=0, help="brokers of Apache Kafka")
    parser.add_argument("--directory", type=Path, help="kept; else one that is deleted at the end")
    flags = parser.parse_args()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with ExitStack() as stack:
        directory = flags.directory
        if directory is None:
            temporary = tempfile.TemporaryDirectory(prefix="kafkalite-cluster-")
            directory = Path(stack.enter_context(temporary))
        cluster = QuorumCluster(
            directory.absolute(),
            controllers=flags.controllers,
            kafka=flags.kafka,
            kafkalite=flags.kafkalite,
            properties={
                "offsets.topic.replication.factor": str(min(3, flags.kafka + flags.kafkalite))
            },
        )
        stack.callback(cluster.close)
        show(cluster)
        stopping.wait()


def show(cluster: QuorumCluster) -> None:
    """Say how the cluster is reached, and how it ends."""
    print(f"\ncluster {cluster.cluster_id} in {cluster.directory}")
    for kind, nodes in (
        ("controllers (Apache Kafka)", cluster.controllers),
        ("brokers (Apache Kafka)", cluster.kafka),
        ("brokers (kafkalite)", cluster.kafkalite),
    ):
        if nodes:
            print(f"  {kind}: " + ", ".join(f"{i} on port {port}" for i, port in nodes.items()))
    print(f"clients: bootstrap.servers={cluster.bootstrap}")
    first = next(iter(cluster.brokers))
    print(f"a node's settings and output: {cluster.home(first)}/server.properties, output")
    print("Ctrl-C stops everything", flush=True)


if __name__ == "__main__":
    main()
