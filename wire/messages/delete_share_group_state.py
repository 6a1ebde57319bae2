"""DeleteShareGroupState (key 86), version 0, flexible since 0.

Group coordinator to share coordinator (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionData:
    partition: int = field(int32)


@struct
class DeleteStateData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class DeleteShareGroupStateRequest:
    group_id: str = field(string)
    topics: list[DeleteStateData] = array(DeleteStateData)


@struct
class PartitionResult:
    partition: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@struct
class DeleteStateResult:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class DeleteShareGroupStateResponse:
    results: list[DeleteStateResult] = array(DeleteStateResult)
