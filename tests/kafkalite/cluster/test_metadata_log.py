"""The metadata log: a change is there as a whole after a crash, or not at all."""

from __future__ import annotations

from pathlib import Path

from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from tests.kafkalite.clusters import create, open_cluster


def test_a_change_cut_short_by_a_crash_is_not_there_at_all(tmp_path: Path) -> None:
    with open_cluster(tmp_path) as cluster:
        create(cluster, "first")
        whole = (tmp_path / "__cluster_metadata-0" / f"{0:020}.log").stat().st_size
        create(cluster, "second", 5)
    path = tmp_path / "__cluster_metadata-0" / f"{0:020}.log"
    for size in (whole, whole + 1, path.stat().st_size - 1):
        with path.open("r+b") as file:
            file.truncate(size)
        with open_cluster(tmp_path) as cluster:
            assert list(cluster.image.topics) == ["first"]
            created = create(cluster, "third")
        with open_cluster(tmp_path) as cluster:
            assert list(cluster.image.topics) == ["first", "third"]
            cluster.write([RemoveTopicRecord(topic_id=created)])


def test_a_restart_begins_a_new_leader_epoch_of_every_partition(tmp_path: Path) -> None:
    epochs: list[int] = []
    for start in range(3):
        with open_cluster(tmp_path) as cluster:
            if start == 0:
                create(cluster, "t")
            epochs.append(cluster.image.topics["t"].partitions[0].leader_epoch)
            assert cluster.leader_epoch == start + 1
    assert epochs == [0, 2, 4]  # the only leader resigns, and is elected: an epoch each
