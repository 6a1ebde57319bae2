"""GroupMetadata (record type 2 of __consumer_offsets), versions 0-4, flexible since 4.

A classic group: generation, leader, members with what they subscribe to and were assigned.

    1  rebalance timeout of members (KIP-62)
    2  when the state was entered (KIP-211)
    3  group instance ids (KIP-345)
    4  flexible
"""

from kafkalite.wire.fields import bytes_, int32, int64, nullable_string, string
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(2)
class GroupMetadataKey:
    group: str = field(string)


@struct
class MemberMetadata:
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=3, ignorable=True)
    client_id: str = field(string)
    client_host: str = field(string)
    rebalance_timeout: int = field(int32, since=1, default=-1, ignorable=True)
    session_timeout: int = field(int32)
    subscription: bytes = field(bytes_)
    assignment: bytes = field(bytes_)


@record_value(2, versions=(0, 4), flexible=4)
class GroupMetadataValue:
    protocol_type: str = field(string)
    generation: int = field(int32)
    protocol: str | None = field(nullable_string, default="")
    leader: str | None = field(nullable_string, default="")
    current_state_timestamp: int = field(int64, since=2, default=-1, ignorable=True)
    members: list[MemberMetadata] = array(MemberMetadata)
