"""ListOffsets (key 2), versions 1-11, flexible since 6.

The offset that belongs to a timestamp; -1 asks for the end of a partition, -2 for its beginning.

     1  one offset per partition, with its timestamp (KIP-79)
     2  isolation level (KIP-98)
     3  answered first and throttled by the client afterwards (KIP-219)
     4  leader epochs (KIP-320)
     5  OFFSET_NOT_AVAILABLE is possible (KIP-207)
     7  timestamp -3: the offset of the greatest timestamp (KIP-734)
     8  timestamp -4: the earliest local offset (KIP-405)
     9  timestamp -5: the last tiered offset (KIP-1005)
    10  a timeout, for lookups in remote storage (KIP-1075)
    11  timestamp -6: the earliest offset not yet uploaded (KIP-1023)
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class ListOffsetsPartition:
    partition_index: int = field(int32)
    current_leader_epoch: int = field(int32, since=4, default=-1, ignorable=True)
    timestamp: int = field(int64)


@struct
class ListOffsetsTopic:
    name: str = field(string)
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


@request(ApiKey.LIST_OFFSETS, versions=(1, 11), flexible=6)
class ListOffsetsRequest:
    replica_id: int = field(int32)
    isolation_level: int = field(int8, since=2)
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = field(int32, since=10, ignorable=True)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    timestamp: int = field(int64, default=-1)
    offset: int = field(int64, default=-1)
    leader_epoch: int = field(int32, since=4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = field(string)
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


@response(ApiKey.LIST_OFFSETS, versions=(1, 11), flexible=6)
class ListOffsetsResponse:
    throttle_time_ms: int = field(int32, since=2, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)


# The same as rows (wire/rows.py).
ListOffsetsPartitionRow: TypeAlias = tuple[int, int, int]
ListOffsetsTopicRow: TypeAlias = tuple[str, list[ListOffsetsPartitionRow]]
ListOffsetsRequestRow: TypeAlias = tuple[int, int, list[ListOffsetsTopicRow], int]

ListOffsetsPartitionResponseRow: TypeAlias = tuple[int, int, int, int, int]
ListOffsetsTopicResponseRow: TypeAlias = tuple[str, Sequence[ListOffsetsPartitionResponseRow]]
ListOffsetsResponseRow: TypeAlias = tuple[int, Sequence[ListOffsetsTopicResponseRow]]
