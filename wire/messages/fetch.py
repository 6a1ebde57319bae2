"""Fetch (key 1), versions 4-18, flexible since 12.

Reads record batches. Partitions are served in the order of the request, which is the order in
which they share max_bytes.

     4  isolation level, last stable offset, aborted transactions (KIP-98)
     5  log start offset (KIP-107)
     6  KAFKA_STORAGE_ERROR is possible (KIP-112)
     7  fetch sessions (KIP-227)
     8  answered first and throttled by the client afterwards (KIP-219)
     9  current leader epoch, for fencing (KIP-320)
    10  records may be compressed with zstd (KIP-110)
    11  rack of the consumer, preferred read replica (KIP-392)
    12  last fetched epoch, diverging epoch, current leader (KIP-595)
    13  topic ids in place of names (KIP-516)
    14  OFFSET_MOVED_TO_TIERED_STORAGE is possible (KIP-405)
    15  the replica state, with its epoch, in place of the replica id (KIP-903)
    16  addresses of current leaders (KIP-951)
    17  directory id of the fetching replica (KIP-853)
    18  high watermark of the fetching replica (KIP-1166)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    Records,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    records_chunk,
    string,
    uuid,
)
from kafkalite.wire.schema import array, field, nested, nullable_array, request, response, struct


@struct
class ReplicaState:
    replica_id: int = field(int32, default=-1)
    replica_epoch: int = field(int64, default=-1)


@struct
class FetchPartition:
    partition: int = field(int32)
    current_leader_epoch: int = field(int32, since=9, default=-1, ignorable=True)
    fetch_offset: int = field(int64)
    last_fetched_epoch: int = field(int32, since=12, default=-1)
    log_start_offset: int = field(int64, since=5, default=-1, ignorable=True)
    partition_max_bytes: int = field(int32)
    replica_directory_id: UUID = field(uuid, since=17, tag=0, ignorable=True)
    high_watermark: int = field(int64, since=18, tag=1, default=0x7FFFFFFFFFFFFFFF, ignorable=True)


@struct
class FetchTopic:
    topic: str = field(string, until=12, ignorable=True)
    topic_id: UUID = field(uuid, since=13, ignorable=True)
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic:
    topic: str = field(string, until=12, ignorable=True)
    topic_id: UUID = field(uuid, since=13, ignorable=True)
    partitions: list[int] = array(int32)


@request(ApiKey.FETCH, versions=(4, 18), flexible=12)
class FetchRequest:
    cluster_id: str | None = field(nullable_string, since=12, tag=0, ignorable=True)
    replica_id: int = field(int32, until=14, default=-1)
    replica_state: ReplicaState = nested(ReplicaState, since=15, tag=1)
    max_wait_ms: int = field(int32)
    min_bytes: int = field(int32)
    max_bytes: int = field(int32, default=0x7FFFFFFF)
    isolation_level: int = field(int8)
    session_id: int = field(int32, since=7, ignorable=True)
    session_epoch: int = field(int32, since=7, default=-1, ignorable=True)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, since=7)
    rack_id: str = field(string, since=11, ignorable=True)


@struct
class EpochEndOffset:
    epoch: int = field(int32, default=-1)
    end_offset: int = field(int64, default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(int32, default=-1)
    leader_epoch: int = field(int32, default=-1)


@struct
class SnapshotId:
    end_offset: int = field(int64, default=-1)
    epoch: int = field(int32, default=-1)


@struct
class AbortedTransaction:
    producer_id: int = field(int64)
    first_offset: int = field(int64)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    high_watermark: int = field(int64)
    last_stable_offset: int = field(int64, default=-1)
    log_start_offset: int = field(int64, since=5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = nested(EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId = nested(SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = nullable_array(
        AbortedTransaction, default=[]
    )
    preferred_read_replica: int = field(int32, since=11, default=-1)
    records: Records | None = field(records_chunk)


@struct
class FetchableTopicResponse:
    topic: str = field(string, until=12, ignorable=True)
    topic_id: UUID = field(uuid, since=13, ignorable=True)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string)


@response(ApiKey.FETCH, versions=(4, 18), flexible=12)
class FetchResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16, since=7, ignorable=True)
    session_id: int = field(int32, since=7)
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, since=16, tag=0)


# The same as rows (wire/rows.py).
ReplicaStateRow: TypeAlias = tuple[int, int]
FetchPartitionRow: TypeAlias = tuple[int, int, int, int, int, int, UUID, int]
FetchTopicRow: TypeAlias = tuple[str, UUID, list[FetchPartitionRow]]
ForgottenTopicRow: TypeAlias = tuple[str, UUID, list[int]]
FetchRequestRow: TypeAlias = tuple[
    str | None,
    int,
    ReplicaStateRow,
    int,
    int,
    int,
    int,
    int,
    int,
    list[FetchTopicRow],
    list[ForgottenTopicRow],
    str,
]

EpochEndOffsetRow: TypeAlias = tuple[int, int]
LeaderIdAndEpochRow: TypeAlias = tuple[int, int]
SnapshotIdRow: TypeAlias = tuple[int, int]
AbortedTransactionRow: TypeAlias = tuple[int, int]
PartitionDataRow: TypeAlias = tuple[
    int,
    int,
    int,
    int,
    int,
    EpochEndOffsetRow,
    LeaderIdAndEpochRow,
    SnapshotIdRow,
    Sequence[AbortedTransactionRow] | None,
    int,
    Records | None,
]
FetchableTopicResponseRow: TypeAlias = tuple[str, UUID, Sequence[PartitionDataRow]]
NodeEndpointRow: TypeAlias = tuple[int, str, int, str | None]
FetchResponseRow: TypeAlias = tuple[
    int, int, int, Sequence[FetchableTopicResponseRow], Sequence[NodeEndpointRow]
]
