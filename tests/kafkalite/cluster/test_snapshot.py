"""Snapshots of the metadata: the same image from fewer records, through crashes and clean-ups."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.cluster.cluster import Cluster
from kafkalite.cluster.image import ALL_BROKERS, BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from kafkalite.cluster.image_records import records_of
from kafkalite.cluster.metadata_log import MetadataLog, MetadataLogConfig
from kafkalite.cluster.snapshot import SnapshotId
from kafkalite.cluster.sole_controller import SoleController
from kafkalite.config import BrokerConfig
from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.kafkalite.cluster.test_metadata_log import create, endpoints_of

SMALL_SEGMENTS = 10_000


class Opened:
    """A cluster on a metadata log of small segments."""

    def __init__(self, directory: Path, now_ms: int = 1, **config: int) -> None:
        self.now_ms = now_ms
        self.directory = directory / "__cluster_metadata-0"
        self.log = Log.open(
            self.directory,
            LogConfig(retention_ms=-1, segment_bytes=SMALL_SEGMENTS, file_delete_delay_ms=0),
            now_ms=lambda: self.now_ms,
        )
        self.metadata_log = MetadataLog(self.log, lambda: self.now_ms, MetadataLogConfig(**config))
        self.cluster = SoleController(
            self.metadata_log,
            BrokerConfig({"kafkalite.nodes": "3"}),
            cluster_id="c",
            directory_ids=[UUID(int=7)],
        )

    def start(self) -> Opened:
        self.cluster.start(endpoints_of(3))
        return self

    def snapshot(self) -> SnapshotId:
        self.cluster.begin_snapshot()()
        self.cluster.complete_snapshot()
        return self.metadata_log.snapshots[-1]

    def close(self) -> None:
        self.log.close()


def fill(cluster: Cluster) -> None:
    """Something of everything."""
    topic_id = create(cluster, "t", 3, 2)
    create(cluster, "gone", 1, 1)
    cluster.fence(3)
    resource = {"resource_type": TOPIC_RESOURCE, "resource_name": "t"}
    broker = {"resource_type": BROKER_RESOURCE, "resource_name": ALL_BROKERS}
    quota = [EntityData(entity_type="user", entity_name=None), EntityData("client-id", "x")]
    cluster.write(
        [
            ConfigRecord(**resource, name="retention.ms", value="7"),
            ConfigRecord(**broker, name="log.retention.ms", value="9"),
            ClientQuotaRecord(entity=quota, key="producer_byte_rate", value=5.5),
            UserScramCredentialRecord(
                name="ann", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=9
            ),
            AccessControlEntryRecord(id=UUID(int=4), principal="User:a", host="*"),
            DelegationTokenRecord(owner="User:a", token_id="i", max_timestamp=3),
            PartitionChangeRecord(
                partition_id=1, topic_id=topic_id, adding_replicas=[3], removing_replicas=[1]
            ),
        ]
    )
    cluster.allocate_producer_id(1)


def test_the_records_of_an_image_add_up_to_it(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    fill(opened.cluster)
    image = MetadataImage()
    image.offset = opened.cluster.image.offset
    for record in records_of(opened.cluster.image):
        image.apply(record)
    # A node's registration in a snapshot says at once what it has become since.
    for one in (image, opened.cluster.image):
        for broker in one.brokers.values():
            broker.registration.fenced = False
    assert vars(image) == vars(opened.cluster.image)
    opened.close()


def test_a_start_reads_the_newest_snapshot_and_what_follows(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    fill(opened.cluster)
    snapshot = opened.snapshot()
    create(opened.cluster, "later")
    names, epoch, offset = list(opened.cluster.image.topics), opened.cluster.epoch, snapshot[0]
    leader_epoch = opened.cluster.leader_epoch
    opened.close()
    assert (opened.directory / f"{offset:020d}-{leader_epoch:010d}.checkpoint").exists()
    again = Opened(tmp_path)
    assert list(again.cluster.image.topics) == names
    assert again.cluster.epoch == epoch
    assert again.cluster.leader_epoch == leader_epoch
    assert again.cluster.image.configs[TOPIC_RESOURCE, "t"] == {"retention.ms": "7"}
    again.start()
    assert again.cluster.leader_epoch == leader_epoch + 1
    again.close()


def test_old_metadata_goes_and_is_not_missed(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_bytes=45_000).start()
    for number in range(200):
        create(opened.cluster, f"topic-{number}")
        if number % 20 == 19:
            opened.snapshot()
    assert len(opened.metadata_log.snapshots) in (1, 2)
    assert opened.log.log_start_offset == opened.metadata_log.snapshots[0].end_offset
    size = sum(path.stat().st_size for path in opened.directory.glob("*.log"))
    assert size < 30_000
    opened.close()
    again = Opened(tmp_path)
    assert len(again.cluster.image.topics) == 200
    again.start()
    create(again.cluster, "another")
    again.close()


def test_old_metadata_goes_with_time(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_ms=1000).start()
    first = opened.snapshot()
    create(opened.cluster, "a")
    second = opened.snapshot()
    assert opened.metadata_log.snapshots == [first, second]
    opened.now_ms += 1001
    create(opened.cluster, "b")
    third = opened.snapshot()
    assert opened.metadata_log.snapshots == [third]
    assert opened.log.log_start_offset == third.end_offset
    opened.close()
    again = Opened(tmp_path)
    assert set(again.cluster.image.topics) == {"a", "b"}
    again.close()


def test_what_a_crash_left_half_written_is_removed(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    create(opened.cluster, "t")
    opened.close()
    part = opened.directory / f"{7:020d}-{1:010d}.checkpoint.part"
    part.write_bytes(b"x")
    again = Opened(tmp_path)
    assert not part.exists()
    assert list(again.cluster.image.topics) == ["t"]
    again.close()


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_snapshot_is_passed_over(tmp_path: Path, damage: str) -> None:
    opened = Opened(tmp_path).start()
    create(opened.cluster, "t")
    opened.snapshot()
    create(opened.cluster, "u")
    path = opened.snapshot().path(opened.directory)
    opened.close()
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-70:]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again = Opened(tmp_path)
    assert list(again.cluster.image.topics) == ["t", "u"]
    again.close()


def test_no_snapshot_and_no_beginning_is_an_error(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_bytes=0).start()
    for number in range(100):
        create(opened.cluster, f"topic-{number}")
    opened.snapshot()
    create(opened.cluster, "t")
    opened.snapshot()
    opened.close()
    for path in opened.directory.glob("*.checkpoint"):
        path.unlink()
    with pytest.raises(KafkaError, match="do not meet the log"):
        Opened(tmp_path)


def test_when_a_snapshot_is_due(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_log_max_record_bytes_between_snapshots=5000).start()
    opened.snapshot()
    count = 0
    while not opened.metadata_log.is_snapshot_due:
        create(opened.cluster, f"topic-{count}")
        count += 1
    assert 10 < count < 50
    opened.snapshot()
    assert not opened.metadata_log.is_snapshot_due
    opened.now_ms += 3_600_000
    assert not opened.metadata_log.is_snapshot_due  # nothing is new
    create(opened.cluster, "new")
    assert opened.metadata_log.is_snapshot_due
    opened.close()


async def test_a_running_broker_makes_them(autojump_clock: MockClock, tmp_path: Path) -> None:
    config = {"metadata.log.max.record.bytes.between.snapshots": 3000}
    async with test_broker(config, data_dir=tmp_path) as b:
        directory = tmp_path / "__cluster_metadata-0"
        assert not list(directory.glob("*.checkpoint"))
        for number in range(30):
            b.create_topic(f"topic-{number}")
        while not list(directory.glob("*.checkpoint")):  # noqa: ASYNC110 - nobody signals that
            await trio.sleep(0.5)
    async with test_broker(config, data_dir=tmp_path) as b:
        assert len(b._running.services.topics) == 30


def test_every_change_is_on_the_disk_before_it_is_told(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    told: list[int] = []
    opened.cluster.subscribe(lambda records: told.append(opened.log.recovery_point))
    create(opened.cluster, "t")
    assert told == [opened.log.log_end_offset]
    opened.close()
