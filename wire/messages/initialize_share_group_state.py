"""InitializeShareGroupState (key 83), version 0, flexible since 0.

Group coordinator to share coordinator (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionData:
    partition: int = field(int32)
    state_epoch: int = field(int32)
    start_offset: int = field(int64)


@struct
class InitializeStateData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class InitializeShareGroupStateRequest:
    group_id: str = field(string)
    topics: list[InitializeStateData] = array(InitializeStateData)


@struct
class PartitionResult:
    partition: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@struct
class InitializeStateResult:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class InitializeShareGroupStateResponse:
    results: list[InitializeStateResult] = array(InitializeStateResult)
