"""TxnOffsetCommit (key 28), versions 0-5, flexible since 3.

Stores how far a group has consumed, when the transaction commits (KIP-98).

    1  answered first and throttled by the client afterwards (KIP-219)
    2  leader epoch of the committed offset (KIP-320)
    3  generation, member id, group instance id, for fencing (KIP-447)
    4  TRANSACTION_ABORTABLE is possible (KIP-890)
    5  adds the group to the transaction, without AddOffsetsToTxn (KIP-890)
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int = field(int32)
    committed_offset: int = field(int64)
    committed_leader_epoch: int = field(int32, since=2, default=-1, ignorable=True)
    committed_metadata: str | None = field(nullable_string, default="")


@struct
class TxnOffsetCommitRequestTopic:
    name: str = field(string)
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition)


@request(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), flexible=3)
class TxnOffsetCommitRequest:
    transactional_id: str = field(string)
    group_id: str = field(string)
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    generation_id: int = field(int32, since=3, default=-1)
    member_id: str = field(string, since=3)
    group_instance_id: str | None = field(nullable_string, since=3)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic)


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class TxnOffsetCommitResponseTopic:
    name: str = field(string)
    partitions: list[TxnOffsetCommitResponsePartition] = array(TxnOffsetCommitResponsePartition)


@response(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), flexible=3)
class TxnOffsetCommitResponse:
    throttle_time_ms: int = field(int32)
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic)


# The same as rows (wire/rows.py).
TxnOffsetCommitRequestPartitionRow: TypeAlias = tuple[int, int, int, str | None]
TxnOffsetCommitRequestTopicRow: TypeAlias = tuple[str, list[TxnOffsetCommitRequestPartitionRow]]
TxnOffsetCommitRequestRow: TypeAlias = tuple[
    str, str, int, int, int, str, str | None, list[TxnOffsetCommitRequestTopicRow]
]

TxnOffsetCommitResponsePartitionRow: TypeAlias = tuple[int, int]
TxnOffsetCommitResponseTopicRow: TypeAlias = tuple[
    str, Sequence[TxnOffsetCommitResponsePartitionRow]
]
TxnOffsetCommitResponseRow: TypeAlias = tuple[int, Sequence[TxnOffsetCommitResponseTopicRow]]
