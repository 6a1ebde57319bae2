"""A cluster on a metadata log in a directory, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from kafkalite.cluster.cluster import Cluster, Endpoint
from kafkalite.cluster.metadata_log import MetadataLog
from kafkalite.cluster.sole_controller import SoleController
from kafkalite.cluster.topic_creation import NewTopic, TopicCreation
from kafkalite.config import BrokerConfig
from kafkalite.log.config import LogConfig
from kafkalite.log.opening import open_log
from kafkalite.requests.slices import at_once

TOPIC_ID = UUID("aec97b70-bc26-4e8c-ae85-e206119c3188")


@contextmanager
def open_cluster(
    directory: Path, nodes: int = 1, *, start: bool = True, **configs: str
) -> Iterator[Cluster]:
    log = open_log(directory / "__cluster_metadata-0", LogConfig(), now_ms=lambda: 1)
    config = BrokerConfig(
        {"kafkalite.nodes": str(nodes)}
        | {name.replace("_", "."): value for name, value in configs.items()}
    )
    cluster = SoleController(
        MetadataLog(log, lambda: 1), config, cluster_id="c", directory_ids=[UUID(int=7)]
    )
    if start:
        cluster.start(endpoints_of(nodes))
    try:
        yield cluster
    finally:
        log.close()


def endpoints_of(nodes: int) -> dict[int, dict[str, Endpoint]]:
    return {
        node_id: {"PLAINTEXT": Endpoint("localhost", 9091 + node_id)}
        for node_id in range(1, nodes + 1)
    }


def create(cluster: Cluster, name: str, partitions: int = 1, replicas: int = 1) -> UUID:
    new = NewTopic(name, partitions, replicas)
    created, records = at_once(TopicCreation(cluster).records(new))
    cluster.write(records)
    return created.topic_id
