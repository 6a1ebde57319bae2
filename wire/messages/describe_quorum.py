"""DescribeQuorum (key 55), versions 0-2, flexible since 0.

State of the KRaft quorum (KIP-595).

    1  when a voter last fetched, and last was caught up (KIP-836)
    2  directory ids, addresses of the nodes, error messages (KIP-853)

Kafka names a struct of the request and a differing one of the response PartitionData and
TopicData: the request's has the suffix.
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uint16, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionDataRequest:
    partition_index: int = field(int32)


@struct
class TopicDataRequest:
    topic_name: str = field(string)
    partitions: list[PartitionDataRequest] = array(PartitionDataRequest)


@request(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0)
class DescribeQuorumRequest:
    topics: list[TopicDataRequest] = array(TopicDataRequest)


@struct
class ReplicaState:
    replica_id: int = field(int32)
    replica_directory_id: UUID = field(uuid, since=2)
    log_end_offset: int = field(int64)
    last_fetch_timestamp: int = field(int64, since=1, default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(int64, since=1, default=-1, ignorable=True)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, since=2, default="", ignorable=True)
    leader_id: int = field(int32)
    leader_epoch: int = field(int32)
    high_watermark: int = field(int64)
    current_voters: list[ReplicaState] = array(ReplicaState)
    observers: list[ReplicaState] = array(ReplicaState)


@struct
class TopicData:
    topic_name: str = field(string)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class Listener:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)


@struct
class Node:
    node_id: int = field(int32)
    listeners: list[Listener] = array(Listener)


@response(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0)
class DescribeQuorumResponse:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, since=2, default="", ignorable=True)
    topics: list[TopicData] = array(TopicData)
    nodes: list[Node] = array(Node, since=2)
