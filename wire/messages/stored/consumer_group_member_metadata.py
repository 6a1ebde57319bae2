"""ConsumerGroupMemberMetadata (record type 5 of __consumer_offsets), version 0, flexible since 0.

A member of a consumer group, and its subscription (KIP-848). A classic member has its protocols
beside.
"""

from kafkalite.wire.fields import bytes_, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_nested, record_key, record_value, struct


@record_key(5)
class ConsumerGroupMemberMetadataKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class ClassicProtocol:
    name: str = field(string)
    metadata: bytes = field(bytes_)


@struct
class ClassicMemberMetadata:
    session_timeout_ms: int = field(int32)
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


@record_value(5, versions=(0, 0), flexible=0)
class ConsumerGroupMemberMetadataValue:
    instance_id: str | None = field(nullable_string, default="")
    rack_id: str | None = field(nullable_string, default="")
    client_id: str = field(string)
    client_host: str = field(string)
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = field(nullable_string, default="")
    rebalance_timeout_ms: int = field(int32, default=-1)
    server_assignor: str | None = field(nullable_string, default="")
    classic_member_metadata: ClassicMemberMetadata | None = nullable_nested(
        ClassicMemberMetadata, tag=0, null_by_default=False
    )
