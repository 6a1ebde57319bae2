"""OffsetForLeaderEpoch (key 23), versions 2-4, flexible since 4.

Where a leader epoch ends in the log of the leader (KIP-101, KIP-279).

    2  current leader epoch, for fencing; throttle time (KIP-320)
    3  replica id: -2 for consumers, which may look beyond the high watermark (KIP-392)
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class OffsetForLeaderPartition:
    partition: int = field(int32)
    current_leader_epoch: int = field(int32, default=-1)
    leader_epoch: int = field(int32)


@struct
class OffsetForLeaderTopic:
    topic: str = field(string)
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


@request(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochRequest:
    replica_id: int = field(int32, since=3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


@struct
class EpochEndOffset:
    error_code: int = field(int16)
    partition: int = field(int32)
    leader_epoch: int = field(int32, default=-1)
    end_offset: int = field(int64, default=-1)


@struct
class OffsetForLeaderTopicResult:
    topic: str = field(string)
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


@response(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int = field(int32)
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)


OffsetForLeaderPartitionRow: TypeAlias = tuple[int, int, int]
OffsetForLeaderTopicRow: TypeAlias = tuple[str, list[OffsetForLeaderPartitionRow]]
OffsetForLeaderEpochRequestRow: TypeAlias = tuple[int, list[OffsetForLeaderTopicRow]]

EpochEndOffsetRow: TypeAlias = tuple[int, int, int, int]
OffsetForLeaderTopicResultRow: TypeAlias = tuple[str, list[EpochEndOffsetRow]]
OffsetForLeaderEpochResponseRow: TypeAlias = tuple[int, Sequence[OffsetForLeaderTopicResultRow]]
