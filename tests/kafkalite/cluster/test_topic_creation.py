"""Plans for new topics: names, placement, and the records that would make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.cluster.topic_creation import NewTopic, TopicCreation
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from tests.kafkalite.clusters import open_cluster


def test_a_plan_is_records_and_changes_nothing(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 3) as cluster:
        offset = cluster.image.offset
        new = NewTopic("t", 2, 3, configs={"retention.ms": "5"})
        created, records = at_once(TopicCreation(cluster).records(new))
        assert (created.partition_count, created.replication_factor) == (2, 3)
        assert [type(record) for record in records] == [
            TopicRecord,
            ConfigRecord,
            PartitionRecord,
            PartitionRecord,
        ]
        assert (cluster.image.topics, cluster.image.offset) == ({}, offset)


def test_the_topic_of_the_metadata_is_not_created(tmp_path: Path) -> None:
    """Its first partition would lie where the log of the metadata does."""
    with open_cluster(tmp_path, 1) as cluster, pytest.raises(KafkaError, match="is prohibited"):
        at_once(TopicCreation(cluster).records(NewTopic("__cluster_metadata", 1, 1)))


def test_topics_of_one_partition_spread_over_the_nodes(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 3) as cluster:
        creation = TopicCreation(cluster)
        leaders = set()
        for index in range(3):
            _, records = at_once(creation.records(NewTopic(f"t{index}", 1, 1)))
            (partition,) = [each for each in records if isinstance(each, PartitionRecord)]
            leaders.add(partition.leader)
        assert leaders == {1, 2, 3}
