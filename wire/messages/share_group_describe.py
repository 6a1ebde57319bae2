"""ShareGroupDescribe (key 77), version 1, flexible since 1.

Members of share groups (KIP-932). Version 0 was an early access and is gone.
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nested, request, response, struct


@request(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), flexible=1)
class ShareGroupDescribeRequest:
    group_ids: list[str] = array(string)
    include_authorized_operations: bool = field(boolean)


@struct
class TopicPartitions:
    topic_id: UUID = field(uuid)
    topic_name: str = field(string)
    partitions: list[int] = array(int32)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@struct
class Member:
    member_id: str = field(string)
    rack_id: str | None = field(nullable_string)
    member_epoch: int = field(int32)
    client_id: str = field(string)
    client_host: str = field(string)
    subscribed_topic_names: list[str] = array(string)
    assignment: Assignment = nested(Assignment)


@struct
class DescribedGroup:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    group_id: str = field(string)
    group_state: str = field(string)
    group_epoch: int = field(int32)
    assignment_epoch: int = field(int32)
    assignor_name: str = field(string)
    members: list[Member] = array(Member)
    authorized_operations: int = field(int32, default=-0x80000000)


@response(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), flexible=1)
class ShareGroupDescribeResponse:
    throttle_time_ms: int = field(int32)
    groups: list[DescribedGroup] = array(DescribedGroup)
