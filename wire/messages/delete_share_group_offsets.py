"""DeleteShareGroupOffsets (key 92), version 0, flexible since 0.

Makes a share group forget topics (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: str = field(string)


@request(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsRequest:
    group_id: str = field(string)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array(DeleteShareGroupOffsetsRequestTopic)


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: str = field(string)
    topic_id: UUID = field(uuid)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@response(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic
    )
