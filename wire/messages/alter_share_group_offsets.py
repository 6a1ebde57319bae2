"""AlterShareGroupOffsets (key 91), version 0, flexible since 0.

Sets start offsets of a share group without members (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int = field(int32)
    start_offset: int = field(int64)


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: str = field(string)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = array(
        AlterShareGroupOffsetsRequestPartition
    )


@request(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsRequest:
    group_id: str = field(string)
    topics: list[AlterShareGroupOffsetsRequestTopic] = array(AlterShareGroupOffsetsRequestTopic)


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: str = field(string)
    topic_id: UUID = field(uuid)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = array(
        AlterShareGroupOffsetsResponsePartition
    )


@response(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    responses: list[AlterShareGroupOffsetsResponseTopic] = array(
        AlterShareGroupOffsetsResponseTopic
    )
