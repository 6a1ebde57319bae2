"""Clusters, their snapshots, and what they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import trio

import kafkalite
from kafkalite.control.answers import ClusterView, Health, Seeded, SnapshotView, VersionView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.lifecycle import RestoreSnapshot
from kafkalite.control.operations.asking import ask, refused
from kafkalite.control.operations.groups import seek_group
from kafkalite.control.operations.state import cluster_view
from kafkalite.control.operations.topics import create_topic, write_records
from kafkalite.control.paging import Page, page_by_name, page_in_order
from kafkalite.control.questions import (
    ClusterName,
    CreateCluster,
    CreateTopic,
    Nothing,
    Seed,
    SeekGroup,
    SnapshotName,
    WriteRecords,
)
from kafkalite.control.sightings import ArchiveFile, ImportSnapshot
from kafkalite.wire.api_keys import BROKER_RESOURCE, ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)


async def health(clusters: Clusters, request: Nothing) -> Health:
    """Tells whether the process answers. Asks for no token."""
    return Health()


async def version(clusters: Clusters, request: Nothing) -> VersionView:
    """The version of kafkalite."""
    return VersionView(kafkalite.__version__)


async def list_clusters(clusters: Clusters, request: Page) -> list[ClusterView]:
    """All clusters of the process, the default one first."""
    chosen = page_in_order(clusters.all(), request, lambda each: each.name)
    return list(map(cluster_view, chosen))


async def create_cluster(clusters: Clusters, request: CreateCluster) -> ClusterView:
    """A cluster of its own, on ports of its own. It serves when this is answered.

    It ends when no client is connected for `idle_end`, and with the process.
    """
    await trio.lowlevel.checkpoint_if_cancelled()
    return cluster_view(await clusters.create(request))


async def delete_cluster(clusters: Clusters, request: ClusterName) -> Nothing:
    """End a cluster, and remove its data."""
    await trio.lowlevel.checkpoint_if_cancelled()
    await clusters.delete(request.cluster)
    return Nothing()


# Snapshots


async def list_snapshots(clusters: Clusters, request: Page) -> list[SnapshotView]:
    """All snapshots, of whatever cluster, by their names."""
    return page_by_name(await clusters.snapshots(), request, lambda each: each.snapshot)


async def delete_snapshot(clusters: Clusters, request: SnapshotName) -> Nothing:
    """Forget a snapshot."""
    await clusters.delete_snapshot(request.snapshot)
    return Nothing()


async def save_snapshot(
    clusters: Clusters, cluster: ControlledCluster, request: SnapshotName
) -> SnapshotView:
    """Keep a cluster's data under a name: records, offsets, transactions, topics, configs."""
    return await clusters.save(cluster, request.snapshot)


async def export_cluster(
    clusters: Clusters, cluster: ControlledCluster, request: Nothing
) -> ArchiveFile:
    """A cluster's data as a tar file: a data directory that Apache Kafka opens, too."""
    return ArchiveFile(await clusters.export(cluster))


async def export_snapshot(clusters: Clusters, request: SnapshotName) -> ArchiveFile:
    """A snapshot as a tar file: a data directory that Apache Kafka opens, too."""
    return ArchiveFile(await clusters.archived(request.snapshot))


async def import_snapshot(clusters: Clusters, request: ImportSnapshot) -> SnapshotView:
    """Make a snapshot of the tar file of a data directory, as `export` writes it.

    Another one of this name is replaced. An archive that no broker here could open is refused.
    """
    await trio.lowlevel.checkpoint_if_cancelled()
    return await clusters.import_snapshot(request.snapshot, Path(request.file))


async def restore_snapshot(
    clusters: Clusters, cluster: ControlledCluster, request: RestoreSnapshot
) -> ClusterView:
    """Have a cluster go on from a snapshot, at the same addresses. Groups have no members
    then.

    Its time is the machine's, or with `clock` that of the snapshot, from which it runs on.
    """
    await clusters.restore(cluster, request.snapshot, sets_clock=request.clock)
    return cluster_view(cluster)


async def seed(cluster: ControlledCluster, request: Seed) -> Seeded:
    """Make topics with records, groups with offsets, and set configs of the whole cluster."""
    if request.configs:
        await _set_configs(cluster, request.configs)
    records = 0
    for topic in request.topics:
        if cluster.broker.services.topics.get(topic.name) is None:
            await create_topic(
                cluster, CreateTopic(topic.name, topic.partitions, configs=topic.configs)
            )
        if topic.records:
            written = await write_records(cluster, WriteRecords(topic.name, topic.records))
            records += len(written.places)
    for group in request.groups:
        for name, offsets in group.offsets.items():
            for partition, offset in offsets.items():
                await seek_group(cluster, SeekGroup(group.id, name, offset, partition))
    return Seeded(len(request.topics), records, len(request.groups))


async def _set_configs(cluster: ControlledCluster, configs: Mapping[str, str]) -> None:
    """Set the configs of all brokers as an admin client does. Raises Problem."""
    resource = AlterConfigsResource(
        resource_type=BROKER_RESOURCE,
        resource_name="",
        configs=[AlterableConfig(name=name, value=value) for name, value in configs.items()],
    )
    body = IncrementalAlterConfigsRequest(resources=[resource])
    node_id = cluster.broker.listeners[0].node_id
    answer = await ask(cluster.broker, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body, node_id)
    (told,) = answer.responses
    if told.error_code:
        raise refused(
            KafkaError(ErrorCode(told.error_code), told.error_message), "no config is set"
        )
