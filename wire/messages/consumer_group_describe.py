"""ConsumerGroupDescribe (key 69), versions 0-1, flexible since 0.

Members of consumer groups, their assignments and target assignments (KIP-848).

    1  type of a member: classic or consumer (KIP-1099)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nested, request, response, struct


@request(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeRequest:
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
    instance_id: str | None = field(nullable_string)
    rack_id: str | None = field(nullable_string)
    member_epoch: int = field(int32)
    client_id: str = field(string)
    client_host: str = field(string)
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = field(nullable_string)
    assignment: Assignment = nested(Assignment)
    target_assignment: Assignment = nested(Assignment)
    member_type: int = field(int8, since=1, default=-1, ignorable=True)


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


@response(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeResponse:
    throttle_time_ms: int = field(int32)
    groups: list[DescribedGroup] = array(DescribedGroup)
