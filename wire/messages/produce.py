"""Produce (key 0), versions 3-13, flexible since 9.

Appends record batches to partitions. With acks = 0 there is no response. ApiVersions says 0 for
the lowest version, as old librdkafka needs (KAFKA-18659), but 0-2 are not served.

     3  transactional id; record batches of format 2 (KIP-98)
     4  KAFKA_STORAGE_ERROR is possible (KIP-112)
     5  log start offset in the response (KIP-192)
     6  answered first and throttled by the client afterwards (KIP-219)
     7  records may be compressed with zstd (KIP-110)
     8  which records were refused, and why (KIP-467)
    10  the current leader and its address come with NOT_LEADER_OR_FOLLOWER (KIP-951)
    11  TRANSACTION_ABORTABLE is possible (KIP-890)
    12  the batch of a transaction adds its partition to it, without AddPartitionsToTxn (KIP-890)
    13  topic ids in place of names (KIP-516)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    InMemory,
    int16,
    int32,
    int64,
    nullable_string,
    records,
    string,
    uuid,
)
from kafkalite.wire.schema import array, field, nested, request, response, struct


@struct
class PartitionProduceData:
    index: int = field(int32)
    records: InMemory | None = field(records)


@struct
class TopicProduceData:
    name: str = field(string, until=12, ignorable=True)
    topic_id: UUID = field(uuid, since=13, ignorable=True)
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


@request(ApiKey.PRODUCE, versions=(3, 13), flexible=9)
class ProduceRequest:
    transactional_id: str | None = field(nullable_string)
    acks: int = field(int16)
    timeout_ms: int = field(int32)
    topic_data: list[TopicProduceData] = array(TopicProduceData)


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = field(int32)
    batch_index_error_message: str | None = field(nullable_string)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(int32, default=-1)
    leader_epoch: int = field(int32, default=-1)


@struct
class PartitionProduceResponse:
    index: int = field(int32)
    error_code: int = field(int16)
    base_offset: int = field(int64)
    log_append_time_ms: int = field(int64, default=-1)
    log_start_offset: int = field(int64, since=5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = array(
        BatchIndexAndErrorMessage, since=8, ignorable=True
    )
    error_message: str | None = field(nullable_string, since=8, ignorable=True)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, since=10, tag=0)


@struct
class TopicProduceResponse:
    name: str = field(string, until=12, ignorable=True)
    topic_id: UUID = field(uuid, since=13, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


@struct
class NodeEndpoint:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string)


@response(ApiKey.PRODUCE, versions=(3, 13), flexible=9)
class ProduceResponse:
    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = field(int32)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, since=10, tag=0)


# The same as rows (wire/rows.py).
PartitionProduceDataRow: TypeAlias = tuple[int, InMemory | None]
TopicProduceDataRow: TypeAlias = tuple[str, UUID, list[PartitionProduceDataRow]]
ProduceRequestRow: TypeAlias = tuple[str | None, int, int, list[TopicProduceDataRow]]

BatchIndexAndErrorMessageRow: TypeAlias = tuple[int, str | None]
LeaderIdAndEpochRow: TypeAlias = tuple[int, int]
PartitionProduceResponseRow: TypeAlias = tuple[
    int, int, int, int, int, Sequence[BatchIndexAndErrorMessageRow], str | None, LeaderIdAndEpochRow
]
TopicProduceResponseRow: TypeAlias = tuple[str, UUID, Sequence[PartitionProduceResponseRow]]
NodeEndpointRow: TypeAlias = tuple[int, str, int, str | None]
ProduceResponseRow: TypeAlias = tuple[
    Sequence[TopicProduceResponseRow], int, Sequence[NodeEndpointRow]
]
