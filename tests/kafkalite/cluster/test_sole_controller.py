"""A controller that decides alone: nodes are fenced and unfenced, ids are given once."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kafkalite.cluster.snapshot import SnapshotId, write_snapshot
from kafkalite.cluster.sole_controller import PRODUCER_ID_BLOCK_SIZE
from kafkalite.log.files import FILES
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.kafkalite.clusters import create, open_cluster


def test_producer_ids_are_never_handed_out_twice(tmp_path: Path) -> None:
    seen: list[int] = []
    for _ in range(3):
        with open_cluster(tmp_path, 2) as cluster:
            seen.extend(cluster.allocate_producer_id(1) for _ in range(PRODUCER_ID_BLOCK_SIZE + 2))
            seen.extend(cluster.allocate_producer_id(2) for _ in range(2))
    assert len(set(seen)) == len(seen)
    assert seen[:3] == [0, 1, 2]


def test_a_node_goes_and_comes_back(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 3) as cluster:
        create(cluster, "t", 3, 3)
        create(cluster, "alone", 3, 1)
        before = [state.leader_id for state in cluster.image.topics["t"].partitions]
        assert sorted(before) == [1, 2, 3]
        alone = next(
            state for state in cluster.image.topics["alone"].partitions if state.leader_id == 2
        )
        cluster.fence(2)
        assert sorted(cluster.nodes) == [1, 3]
        for state, leader in zip(cluster.image.topics["t"].partitions, before, strict=True):
            assert 2 not in state.in_sync_replicas
            assert state.leader_id != 2
            assert state.leader_epoch == (1 if leader == 2 else 0)
        assert (alone.leader_id, alone.in_sync_replicas) == (-1, [])
        assert alone.eligible_leader_replicas == [2]
        at_once(cluster.unfencing(2))
        assert all(
            sorted(state.in_sync_replicas) == [1, 2, 3]
            for state in cluster.image.topics["t"].partitions
        )
        assert (alone.leader_id, alone.in_sync_replicas) == (2, [2])
        assert (alone.leader_epoch, alone.eligible_leader_replicas) == (2, [])


def test_nodes_that_do_not_come_back_after_a_restart_are_fenced(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 3) as cluster:
        create(cluster, "t", 3, 2)
    with open_cluster(tmp_path, 1) as cluster:
        assert sorted(cluster.nodes) == [1]
        assert {state.leader_id for state in cluster.image.topics["t"].partitions} == {1, -1}
    with open_cluster(tmp_path, 3) as cluster:
        assert sorted(cluster.nodes) == [1, 2, 3]
        assert -1 not in {state.leader_id for state in cluster.image.topics["t"].partitions}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (RemoveTopicRecord(topic_id=UUID(int=7)), "RemoveTopicRecord of nothing there is"),
        (PartitionRecord(topic_id=UUID(int=7)), "PartitionRecord of nothing there is"),
        (FeatureLevelRecord(name="metadata.version", feature_level=31), "supported up to 30"),
        (FeatureLevelRecord(name="new.version", feature_level=1), "supported up to 0"),
    ],
)
def test_metadata_that_make_no_sense_here_are_refused(
    tmp_path: Path, record: object, reason: str
) -> None:
    with open_cluster(tmp_path) as cluster:
        batch = at_once(cluster._log.encoded([record]))
        cluster._log.append(batch)
    with pytest.raises(KafkaError, match=reason), open_cluster(tmp_path):
        pass


def formatted(directory: Path, *records: object) -> None:
    """Leave the file that `kafka-storage format` writes beside meta.properties."""
    write_snapshot(directory, FILES, SnapshotId(0, 0), records, -1)
    (directory / f"{0:020d}-{0:010d}.checkpoint").rename(directory / "bootstrap.checkpoint")


def test_a_new_cluster_begins_with_what_its_storage_was_formatted_with(tmp_path: Path) -> None:
    levels = {"metadata.version": 25, "transaction.version": 1}
    alice = UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096)
    features = [FeatureLevelRecord(name, level) for name, level in levels.items()]
    formatted(tmp_path, *features, alice)
    for _ in range(2):
        with open_cluster(tmp_path) as cluster:
            assert cluster.features == levels
            assert [*cluster.image.scram_credentials.values()] == [alice]
            assert not cluster.image.configs
    (tmp_path / "bootstrap.checkpoint").unlink()
    with open_cluster(tmp_path) as cluster:
        assert cluster.features == levels


def test_a_storage_that_was_formatted_for_a_newer_release(tmp_path: Path) -> None:
    formatted(tmp_path, FeatureLevelRecord("metadata.version", 31))
    with pytest.raises(KafkaError, match="finalized at level 31"), open_cluster(tmp_path):
        pass


def test_damaged_first_records_are_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "bootstrap.checkpoint").write_bytes(b"")
    with pytest.raises(KafkaError, match="the snapshot is not whole"), open_cluster(tmp_path):
        pass
