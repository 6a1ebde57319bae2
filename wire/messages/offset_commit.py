"""OffsetCommit (key 8), versions 2-10, flexible since 8.

Stores how far a group has consumed.

     2  retention time in place of the timestamp
     3  throttle time (KIP-124)
     4  answered first and throttled by the client afterwards (KIP-219)
     5  without the retention time, a config of the broker since (KIP-211)
     6  leader epoch of the committed offset (KIP-320)
     7  group instance id (KIP-345)
     9  the generation may be a member epoch; STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND (KIP-848)
    10  topic ids in place of names (KIP-848)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class OffsetCommitRequestPartition:
    partition_index: int = field(int32)
    committed_offset: int = field(int64)
    committed_leader_epoch: int = field(int32, since=6, default=-1, ignorable=True)
    committed_metadata: str | None = field(nullable_string, default="")


@struct
class OffsetCommitRequestTopic:
    name: str = field(string, until=9, ignorable=True)
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


@request(ApiKey.OFFSET_COMMIT, versions=(2, 10), flexible=8)
class OffsetCommitRequest:
    group_id: str = field(string)
    generation_id_or_member_epoch: int = field(int32, default=-1)
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=7)
    retention_time_ms: int = field(int64, until=4, default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


@struct
class OffsetCommitResponsePartition:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class OffsetCommitResponseTopic:
    name: str = field(string, until=9, ignorable=True)
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


@response(ApiKey.OFFSET_COMMIT, versions=(2, 10), flexible=8)
class OffsetCommitResponse:
    throttle_time_ms: int = field(int32, since=3, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)


# The same as rows (wire/rows.py).
OffsetCommitRequestPartitionRow: TypeAlias = tuple[int, int, int, str | None]
OffsetCommitRequestTopicRow: TypeAlias = tuple[str, UUID, list[OffsetCommitRequestPartitionRow]]
OffsetCommitRequestRow: TypeAlias = tuple[
    str, int, str, str | None, int, list[OffsetCommitRequestTopicRow]
]

OffsetCommitResponsePartitionRow: TypeAlias = tuple[int, int]
OffsetCommitResponseTopicRow: TypeAlias = tuple[
    str, UUID, Sequence[OffsetCommitResponsePartitionRow]
]
OffsetCommitResponseRow: TypeAlias = tuple[int, Sequence[OffsetCommitResponseTopicRow]]
