"""Clusters, their snapshots, and what they begin with."""

from __future__ import annotations

from pathlib import Path

import kafkalite
from kafkalite.control.answers import ClusterView, Health, Seeded, SnapshotView, VersionView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.operations.groups import seek_group
from kafkalite.control.operations.state import cluster_view
from kafkalite.control.operations.topics import create_topic, write_records
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


async def health(clusters: Clusters, request: Nothing) -> Health:
    """Tells whether the process answers. Asks for no token."""
    return Health()


async def version(clusters: Clusters, request: Nothing) -> VersionView:
    """The version of kafkalite."""
    return VersionView(kafkalite.__version__)


async def list_clusters(clusters: Clusters, request: Nothing) -> list[ClusterView]:
    """All clusters of the process."""
    return [cluster_view(each) for each in clusters.all()]


async def create_cluster(clusters: Clusters, request: CreateCluster) -> ClusterView:
    """A cluster of its own, on ports of its own. It serves when this is answered.

    It ends when no client is connected for `idle_end`, and with the process.
    """
    return cluster_view(await clusters.create(request))


async def delete_cluster(clusters: Clusters, request: ClusterName) -> Nothing:
    """End a cluster, and remove its data."""
    await clusters.delete(request.cluster)
    return Nothing()


# Snapshots


async def list_snapshots(clusters: Clusters, request: Nothing) -> list[SnapshotView]:
    """All snapshots, of whatever cluster."""
    return clusters.snapshots()


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
    return await clusters.import_snapshot(request.snapshot, Path(request.file))


async def restore_snapshot(
    clusters: Clusters, cluster: ControlledCluster, request: SnapshotName
) -> ClusterView:
    """Have a cluster go on from a snapshot, at the same addresses. Groups have no members
    then.
    """
    await clusters.restore(cluster, request.snapshot)
    return cluster_view(cluster)


async def seed(cluster: ControlledCluster, request: Seed) -> Seeded:
    """Make topics with records, and groups with offsets."""
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
