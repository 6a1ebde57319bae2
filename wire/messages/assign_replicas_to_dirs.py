"""AssignReplicasToDirs (key 73), version 0, flexible since 0.

A broker tells the active controller in which of its log directories its replicas lie (KIP-858).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionDataRequest:
    partition_index: int = field(int32)


@struct
class TopicDataRequest:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionDataRequest] = array(PartitionDataRequest)


@struct
class DirectoryDataRequest:
    id: UUID = field(uuid)
    topics: list[TopicDataRequest] = array(TopicDataRequest)


@request(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0)
class AssignReplicasToDirsRequest:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)
    directories: list[DirectoryDataRequest] = array(DirectoryDataRequest)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class TopicData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class DirectoryData:
    id: UUID = field(uuid)
    topics: list[TopicData] = array(TopicData)


@response(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0)
class AssignReplicasToDirsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    directories: list[DirectoryData] = array(DirectoryData)
