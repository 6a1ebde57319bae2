"""AlterPartition (key 56), versions 2-3, flexible since 2.

A leader proposes who is in sync with it (KIP-497).

    2  topic ids in place of names; INELIGIBLE_REPLICA and NEW_LEADER_ELECTED are possible (KIP-841)
    3  broker epochs of the replicas (KIP-903)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, int64, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class BrokerState:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)


@struct
class PartitionDataRequest:
    partition_index: int = field(int32)
    leader_epoch: int = field(int32)
    new_isr: list[int] = array(int32, until=2)
    new_isr_with_epochs: list[BrokerState] = array(BrokerState, since=3)
    leader_recovery_state: int = field(int8)
    partition_epoch: int = field(int32)


@struct
class TopicDataRequest:
    topic_id: UUID = field(uuid, ignorable=True)
    partitions: list[PartitionDataRequest] = array(PartitionDataRequest)


@request(ApiKey.ALTER_PARTITION, versions=(2, 3), flexible=2)
class AlterPartitionRequest:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)
    topics: list[TopicDataRequest] = array(TopicDataRequest)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    leader_id: int = field(int32)
    leader_epoch: int = field(int32)
    isr: list[int] = array(int32)
    leader_recovery_state: int = field(int8, ignorable=True)
    partition_epoch: int = field(int32)


@struct
class TopicData:
    topic_id: UUID = field(uuid, ignorable=True)
    partitions: list[PartitionData] = array(PartitionData)


@response(ApiKey.ALTER_PARTITION, versions=(2, 3), flexible=2)
class AlterPartitionResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    topics: list[TopicData] = array(TopicData)
