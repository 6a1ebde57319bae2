"""The metadata log and the cluster on it: what is written is there again, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from kafkalite.cluster.cluster import Cluster, Endpoint
from kafkalite.cluster.image import TOPIC_RESOURCE, PartitionState
from kafkalite.cluster.leadership import Rules, after_fencing, after_restart, after_unfencing
from kafkalite.cluster.metadata_log import MetadataLog
from kafkalite.cluster.placement import place
from kafkalite.cluster.record_codec import decode_record, encode_record
from kafkalite.cluster.sole_controller import PRODUCER_ID_BLOCK_SIZE, SoleController
from kafkalite.cluster.topic_creation import NewTopic, TopicCreation
from kafkalite.config import BrokerConfig
from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

RULES = Rules(min_in_sync=1, unclean=False)
TOPIC_ID = UUID("aec97b70-bc26-4e8c-ae85-e206119c3188")


@contextmanager
def open_cluster(
    directory: Path, nodes: int = 1, *, start: bool = True, **configs: str
) -> Iterator[Cluster]:
    log = Log.open(directory / "__cluster_metadata-0", LogConfig(), now_ms=lambda: 1)
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
    created, records = TopicCreation(cluster).records(NewTopic(name, partitions, replicas))
    cluster.write(records)
    return created.topic_id


# Values that Apache Kafka 4.3.1 wrote into its own __cluster_metadata-0.
@pytest.mark.parametrize(
    ("value", "record"),
    [
        (
            "010c00116d657461646174612e76657273696f6e001e00",
            FeatureLevelRecord(name="metadata.version", feature_level=30),
        ),
        (
            "010200037431aec97b70bc264e8cae85e206119c318800",
            TopicRecord(name="t1", topic_id=TOPIC_ID),
        ),
    ],
)
def test_records_are_framed_as_kafka_frames_them(value: str, record: object) -> None:
    assert encode_record(record).hex() == value
    assert decode_record(bytes.fromhex(value)) == record


def test_an_unknown_record_is_an_error() -> None:
    with pytest.raises(KafkaError, match="no metadata record: unknown record type 99"):
        decode_record(bytes([1, 99, 0]))


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
    assert epochs == [0, 1, 2]


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


def state_of(replicas: list[int], in_sync: list[int], leader: int) -> PartitionState:
    return PartitionState(replicas, in_sync, leader, leader_epoch=5, partition_epoch=5)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # The leader goes: the first in-sync replica in the order of the assignment leads.
        (
            after_fencing(TOPIC_ID, 0, state_of([1, 2, 3], [3, 1, 2], 1), 1, {2, 3}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2, isr=[3, 2]),
        ),
        # A follower goes: no new leader epoch.
        (
            after_fencing(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1), 2, {1}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]),
        ),
        # A node that holds nothing goes.
        (after_fencing(TOPIC_ID, 0, state_of([1], [1], 1), 2, {1}, RULES), None),
        # It comes back, in sync at once; the leader stays.
        (
            after_unfencing(TOPIC_ID, 0, state_of([1, 2], [2], 2), 1, {1, 2}, RULES),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1, 2]),
        ),
        (after_unfencing(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1), 2, {1, 2}, RULES), None),
        (
            after_restart(TOPIC_ID, 0, state_of([1, 2], [1, 2], 1)),
            PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1),
        ),
        (after_restart(TOPIC_ID, 0, state_of([1], [], -1)), None),
    ],
)
def test_leadership(
    record: PartitionChangeRecord | None, expected: PartitionChangeRecord | None
) -> None:
    assert record == expected


def test_who_was_last_known_to_be_eligible_is_forgotten_once_anyone_is_in_sync() -> None:
    state = state_of([1], [], -1)
    state.eligible_leader_replicas = state.last_known_eligible = [1]
    assert after_unfencing(TOPIC_ID, 0, state, 1, {1}, RULES) == PartitionChangeRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        leader=1,
        isr=[1],
        eligible_leader_replicas=[],
        last_known_elr=[],
    )


def test_replicas_are_spread_over_nodes_and_racks() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    placed = place(racks, frozenset(), 12, 3, 0)
    for replicas in placed:
        assert {racks[node] for node in replicas} == {"a", "b", "c"}
    leaders = [replicas[0] for replicas in placed]
    assert all(leaders.count(node) == 2 for node in racks)
    assert place(racks, frozenset(), 1, 1, 1) != place(racks, frozenset(), 1, 1, 0)


def test_followers_of_one_leader_differ() -> None:
    placed = place({1: None, 2: None, 3: None}, frozenset(), 6, 2, 0)
    assert len({tuple(replicas) for replicas in placed}) == 6


def test_fenced_nodes_are_used_last() -> None:
    assert place({1: None, 2: None}, frozenset({1}), 2, 2, 0) == [[2, 1], [2, 1]]


@pytest.mark.parametrize(
    ("racks", "fenced", "factor", "message"),
    [
        ({1: None}, frozenset[int](), 0, "the replication factor must be positive"),
        (
            {1: None},
            frozenset({1}),
            1,
            "All brokers are currently fenced, or have all their log directories cordoned.",
        ),
        (
            {1: None, 2: None},
            frozenset[int](),
            3,
            "The target replication factor of 3 cannot be reached because only 2 broker",
        ),
    ],
)
def test_what_cannot_be_placed(
    racks: dict[int, str | None], fenced: frozenset[int], factor: int, message: str
) -> None:
    with pytest.raises(KafkaError, match=message) as refused:
        place(racks, fenced, 1, factor, 0)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_records_of_every_kind_survive_the_log() -> None:
    for record in (
        PartitionRecord(partition_id=1, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=3, fenced=-1),
        ConfigRecord(resource_type=2, resource_name="t", name="a", value=None),
    ):
        assert decode_record(encode_record(record)) == record
