"""StreamsGroupMemberMetadata (record type 19 of __consumer_offsets), version 0, flexible since 0.

A member of a streams group (KIP-1071).
"""

from kafkalite.wire.fields import int32, nullable_string, string, uint16
from kafkalite.wire.schema import array, field, nullable_nested, record_key, record_value, struct


@record_key(19)
class StreamsGroupMemberMetadataKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class Endpoint:
    host: str = field(string)
    port: int = field(uint16)


@struct
class KeyValue:
    key: str = field(string)
    value: str = field(string)


@record_value(19, versions=(0, 0), flexible=0)
class StreamsGroupMemberMetadataValue:
    instance_id: str | None = field(nullable_string, default="")
    rack_id: str | None = field(nullable_string, default="")
    client_id: str = field(string)
    client_host: str = field(string)
    rebalance_timeout_ms: int = field(int32, default=-1)
    topology_epoch: int = field(int32)
    process_id: str = field(string)
    user_endpoint: Endpoint | None = nullable_nested(Endpoint)
    client_tags: list[KeyValue] = array(KeyValue)
