"""A cluster that makes snapshots of its metadata."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from kafkalite.cluster.cluster import Cluster
from kafkalite.cluster.image import ALL_BROKERS
from kafkalite.cluster.metadata_log import MetadataLog, MetadataLogConfig
from kafkalite.cluster.snapshot import SnapshotId
from kafkalite.cluster.sole_controller import SoleController
from kafkalite.config import BrokerConfig
from kafkalite.log.config import LogConfig
from kafkalite.log.opening import open_log
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.kafkalite.clusters import create, endpoints_of

SMALL_SEGMENTS = 10_000


class Opened:
    """A cluster on a metadata log of small segments."""

    def __init__(self, directory: Path, now_ms: int = 1, **config: int) -> None:
        self.now_ms = now_ms
        self.directory = directory / "__cluster_metadata-0"
        self.log = open_log(
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
        at_once(self.cluster.begin_snapshot())()
        at_once(self.cluster.complete_snapshot())
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
