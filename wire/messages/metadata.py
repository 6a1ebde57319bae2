"""Metadata (key 3), versions 0-13, flexible since 9.

Brokers, topics, partitions and their leaders: the first thing that every client wants to know.

     0  an empty list of topics means all
     1  null means all topics, an empty list none. New: rack, controller id, is_internal
     2  cluster id (KIP-78)
     3  throttle time (KIP-124)
     4  allow_auto_topic_creation. Older versions mean true
     5  offline replicas (KIP-112)
     6  answered first and throttled by the client afterwards (KIP-219)
     7  leader epoch (KIP-320)
     8  authorized operations on request (KIP-430)
    10  topic ids in the response (KIP-516)
    11  without the authorized operations of the cluster: see DescribeCluster (KIP-700)
    12  topics can be asked for by id (KIP-516)
    13  an error of the whole: REBOOTSTRAP_REQUIRED (KIP-1102)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class MetadataRequestTopic:
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    name: str | None = field(nullable_string, nullable_since=10, default="")


@request(ApiKey.METADATA, versions=(0, 13), flexible=9)
class MetadataRequest:
    topics: list[MetadataRequestTopic] | None = nullable_array(
        MetadataRequestTopic, nullable_since=1, default=[]
    )
    allow_auto_topic_creation: bool = field(boolean, since=4, default=True)
    include_cluster_authorized_operations: bool = field(boolean, since=8, until=10)
    include_topic_authorized_operations: bool = field(boolean, since=8)


@struct
class MetadataResponseBroker:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string, since=1, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: int = field(int16)
    partition_index: int = field(int32)
    leader_id: int = field(int32)
    leader_epoch: int = field(int32, since=7, default=-1, ignorable=True)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, since=5, ignorable=True)


@struct
class MetadataResponseTopic:
    has_kept_rows = True
    error_code: int = field(int16)
    name: str | None = field(nullable_string, nullable_since=12, default="")
    topic_id: UUID = field(uuid, since=10, ignorable=True)
    is_internal: bool = field(boolean, since=1, ignorable=True)
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = field(int32, since=8, default=-0x80000000)


@response(ApiKey.METADATA, versions=(0, 13), flexible=9)
class MetadataResponse:
    throttle_time_ms: int = field(int32, since=3, ignorable=True)
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = field(nullable_string, since=2, ignorable=True)
    controller_id: int = field(int32, since=1, default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = field(int32, since=8, until=10, default=-0x80000000)
    error_code: int = field(int16, since=13, ignorable=True)


# The same as rows (wire/rows.py).
MetadataRequestTopicRow: TypeAlias = tuple[UUID, str | None]
MetadataRequestRow: TypeAlias = tuple[list[MetadataRequestTopicRow] | None, bool, bool, bool]

MetadataResponseBrokerRow: TypeAlias = tuple[int, str, int, str | None]
MetadataResponsePartitionRow: TypeAlias = tuple[
    int, int, int, int, Sequence[int], Sequence[int], Sequence[int]
]
MetadataResponseTopicRow: TypeAlias = tuple[
    int, str | None, UUID, bool, Sequence[MetadataResponsePartitionRow], int
]
MetadataResponseRow: TypeAlias = tuple[
    int,
    Sequence[MetadataResponseBrokerRow],
    str | None,
    int,
    Sequence[MetadataResponseTopicRow],
    int,
    int,
]
