"""ReadShareGroupState (key 84), version 0, flexible since 0.

Partition leader to share coordinator (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionData:
    partition: int = field(int32)
    leader_epoch: int = field(int32)


@struct
class ReadStateData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class ReadShareGroupStateRequest:
    group_id: str = field(string)
    topics: list[ReadStateData] = array(ReadStateData)


@struct
class StateBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    delivery_state: int = field(int8)
    delivery_count: int = field(int16)


@struct
class PartitionResult:
    partition: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    state_epoch: int = field(int32)
    start_offset: int = field(int64)
    state_batches: list[StateBatch] = array(StateBatch)


@struct
class ReadStateResult:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class ReadShareGroupStateResponse:
    results: list[ReadStateResult] = array(ReadStateResult)
