"""FetchSnapshot (key 59), versions 0-1, flexible since 0.

Reads a snapshot of the metadata log, a slice at a time (KIP-630). Slices end anywhere, also inside
a batch.

    1  directory id of the replica, addresses of the controllers (KIP-853)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    Records,
    int16,
    int32,
    int64,
    nullable_string,
    required_records_chunk,
    string,
    uint16,
    uuid,
)
from kafkalite.wire.schema import array, field, nested, request, response, struct


@struct
class SnapshotId:
    end_offset: int = field(int64)
    epoch: int = field(int32)


@struct
class PartitionSnapshotRequest:
    partition: int = field(int32)
    current_leader_epoch: int = field(int32)
    snapshot_id: SnapshotId = nested(SnapshotId)
    position: int = field(int64)
    replica_directory_id: UUID = field(uuid, since=1, tag=0, ignorable=True)


@struct
class TopicSnapshotRequest:
    name: str = field(string)
    partitions: list[PartitionSnapshotRequest] = array(PartitionSnapshotRequest)


@request(ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0)
class FetchSnapshotRequest:
    cluster_id: str | None = field(nullable_string, tag=0)
    replica_id: int = field(int32, default=-1)
    max_bytes: int = field(int32, default=0x7FFFFFFF)
    topics: list[TopicSnapshotRequest] = array(TopicSnapshotRequest)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(int32)
    leader_epoch: int = field(int32)


@struct
class PartitionSnapshot:
    index: int = field(int32)
    error_code: int = field(int16)
    snapshot_id: SnapshotId = nested(SnapshotId)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, tag=0)
    size: int = field(int64)
    position: int = field(int64)
    unaligned_records: Records = field(required_records_chunk)


@struct
class TopicSnapshot:
    name: str = field(string)
    partitions: list[PartitionSnapshot] = array(PartitionSnapshot)


@struct
class NodeEndpoint:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(uint16)


@response(ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0)
class FetchSnapshotResponse:
    throttle_time_ms: int = field(int32, ignorable=True)
    error_code: int = field(int16)
    topics: list[TopicSnapshot] = array(TopicSnapshot)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, since=1, tag=0)
