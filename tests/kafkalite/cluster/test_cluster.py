"""Nodes are fenced and unfenced; ids, configs and topics are there after a restart."""

from __future__ import annotations

from pathlib import Path

from kafkalite.cluster.cluster import PRODUCER_ID_BLOCK_SIZE
from kafkalite.cluster.image import TOPIC_RESOURCE
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from tests.kafkalite.clusters import create, open_cluster


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 3) as cluster:
        kept = create(cluster, "kept", 3, 2)
        gone = create(cluster, "gone")
        cluster.write(
            [
                ConfigRecord(
                    resource_type=TOPIC_RESOURCE, resource_name="kept", name="a", value="1"
                ),
                ConfigRecord(
                    resource_type=TOPIC_RESOURCE, resource_name="kept", name="b", value="2"
                ),
            ]
        )
        cluster.write(
            [
                ConfigRecord(
                    resource_type=TOPIC_RESOURCE, resource_name="kept", name="b", value=None
                ),
                RemoveTopicRecord(topic_id=gone),
            ]
        )
        before = cluster.image
        epoch = cluster.epoch
    with open_cluster(tmp_path, 3, start=False) as cluster:
        assert cluster.epoch == epoch
        assert vars(cluster.image) == vars(before)
        assert list(cluster.image.topics_by_id) == [kept]
        assert cluster.image.topic_configs("kept") == {"a": "1"}


def test_producer_ids_are_never_handed_out_twice(tmp_path: Path) -> None:
    seen: list[int] = []
    for _ in range(3):
        with open_cluster(tmp_path, 2) as cluster:
            seen.extend(cluster.allocate_producer_id(1) for _ in range(PRODUCER_ID_BLOCK_SIZE + 2))
            seen.extend(cluster.allocate_producer_id(2) for _ in range(2))
    assert len(set(seen)) == len(seen)
    assert seen[:3] == [0, 1, 2]


def test_dynamic_configs_come_back_and_win(tmp_path: Path) -> None:
    with open_cluster(tmp_path, min_insync_replicas="2") as cluster:
        assert cluster.config.integer("min.insync.replicas") == 2
        cluster.write(
            [ConfigRecord(resource_type=4, resource_name="", name="num.partitions", value="7")]
        )
        assert cluster.config.integer("num.partitions") == 7
    with open_cluster(tmp_path, start=False) as cluster:
        assert cluster.config.integer("num.partitions") == 7
        assert cluster.config.dynamic_default["min.insync.replicas"] == "2"


def test_subscribers_see_the_image_already_changed_and_caches_are_empty(tmp_path: Path) -> None:
    with open_cluster(tmp_path) as cluster:
        seen: list[tuple[list[str], dict[object, object]]] = []
        cluster.cache["x"] = 1
        cluster.subscribe(lambda _: seen.append((list(cluster.image.topics), dict(cluster.cache))))
        create(cluster, "t")
    assert seen == [(["t"], {})]


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
        cluster.unfence(2)
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
