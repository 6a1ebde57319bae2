"""WriteShareGroupState (key 85), versions 0-1, flexible since 0.

Partition leader to share coordinator (KIP-932).

    1  delivery complete count (KIP-1226)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class StateBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    delivery_state: int = field(int8)
    delivery_count: int = field(int16)


@struct
class PartitionData:
    partition: int = field(int32)
    state_epoch: int = field(int32)
    leader_epoch: int = field(int32)
    start_offset: int = field(int64)
    delivery_complete_count: int = field(int32, since=1, default=-1, ignorable=True)
    state_batches: list[StateBatch] = array(StateBatch)


@struct
class WriteStateData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0)
class WriteShareGroupStateRequest:
    group_id: str = field(string)
    topics: list[WriteStateData] = array(WriteStateData)


@struct
class PartitionResult:
    partition: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@struct
class WriteStateResult:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0)
class WriteShareGroupStateResponse:
    results: list[WriteStateResult] = array(WriteStateResult)
