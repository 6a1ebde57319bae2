"""ShareGroupMemberMetadata (record type 10 of __consumer_offsets), version 0, flexible since 0.

A member of a share group (KIP-932).
"""

from kafkalite.wire.fields import nullable_string, string
from kafkalite.wire.schema import array, field, record_key, record_value


@record_key(10)
class ShareGroupMemberMetadataKey:
    group_id: str = field(string)
    member_id: str = field(string)


@record_value(10, versions=(0, 0), flexible=0)
class ShareGroupMemberMetadataValue:
    rack_id: str | None = field(nullable_string, default="")
    client_id: str = field(string)
    client_host: str = field(string)
    subscribed_topic_names: list[str] = array(string)
