"""OffsetFetch (key 9), versions 1-10, flexible since 6.

How far a group has consumed.

     1  from __consumer_offsets rather than ZooKeeper
     2  null means all topics; an error of the whole
     3  throttle time (KIP-124)
     4  answered first and throttled by the client afterwards (KIP-219)
     5  leader epoch of the committed offset (KIP-320)
     7  require_stable: wait for pending transactions (KIP-447)
     8  several groups at once (KIP-709)
     9  member id and member epoch (KIP-848)
    10  topic ids in place of names (KIP-848)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class OffsetFetchRequestTopic:
    name: str = field(string)
    partition_indexes: list[int] = array(int32)


@struct
class OffsetFetchRequestTopics:
    name: str = field(string, until=9, ignorable=True)
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    partition_indexes: list[int] = array(int32)


@struct
class OffsetFetchRequestGroup:
    group_id: str = field(string)
    member_id: str | None = field(nullable_string, since=9, ignorable=True)
    member_epoch: int = field(int32, since=9, default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = nullable_array(
        OffsetFetchRequestTopics, default=[]
    )


@request(ApiKey.OFFSET_FETCH, versions=(1, 10), flexible=6)
class OffsetFetchRequest:
    group_id: str = field(string, until=7)
    topics: list[OffsetFetchRequestTopic] | None = nullable_array(
        OffsetFetchRequestTopic, until=7, nullable_since=2, default=[]
    )
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, since=8)
    require_stable: bool = field(boolean, since=7)


@struct
class OffsetFetchResponsePartition:
    partition_index: int = field(int32)
    committed_offset: int = field(int64)
    committed_leader_epoch: int = field(int32, since=5, default=-1, ignorable=True)
    metadata: str | None = field(nullable_string, default="")
    error_code: int = field(int16)


@struct
class OffsetFetchResponseTopic:
    name: str = field(string)
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = field(int32)
    committed_offset: int = field(int64)
    committed_leader_epoch: int = field(int32, default=-1)
    metadata: str | None = field(nullable_string, default="")
    error_code: int = field(int16)


@struct
class OffsetFetchResponseTopics:
    name: str = field(string, until=9, ignorable=True)
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


@struct
class OffsetFetchResponseGroup:
    group_id: str = field(string)
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = field(int16)


@response(ApiKey.OFFSET_FETCH, versions=(1, 10), flexible=6)
class OffsetFetchResponse:
    throttle_time_ms: int = field(int32, since=3, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, until=7)
    error_code: int = field(int16, since=2, until=7, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, since=8)


# The same as rows (wire/rows.py).
OffsetFetchRequestTopicRow: TypeAlias = tuple[str, list[int]]
OffsetFetchRequestTopicsRow: TypeAlias = tuple[str, UUID, list[int]]
OffsetFetchRequestGroupRow: TypeAlias = tuple[
    str, str | None, int, list[OffsetFetchRequestTopicsRow] | None
]
OffsetFetchRequestRow: TypeAlias = tuple[
    str, list[OffsetFetchRequestTopicRow] | None, list[OffsetFetchRequestGroupRow], bool
]

OffsetFetchResponsePartitionRow: TypeAlias = tuple[int, int, int, str | None, int]
OffsetFetchResponseTopicRow: TypeAlias = tuple[str, Sequence[OffsetFetchResponsePartitionRow]]
OffsetFetchResponsePartitionsRow: TypeAlias = tuple[int, int, int, str | None, int]
OffsetFetchResponseTopicsRow: TypeAlias = tuple[
    str, UUID, Sequence[OffsetFetchResponsePartitionsRow]
]
OffsetFetchResponseGroupRow: TypeAlias = tuple[str, Sequence[OffsetFetchResponseTopicsRow], int]
OffsetFetchResponseRow: TypeAlias = tuple[
    int, Sequence[OffsetFetchResponseTopicRow], int, Sequence[OffsetFetchResponseGroupRow]
]
