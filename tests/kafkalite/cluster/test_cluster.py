"""The metadata that a broker sees: the image, its subscribers, dynamic configs, restarts."""

from __future__ import annotations

from pathlib import Path

from kafkalite.wire.api_keys import TOPIC_RESOURCE
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
