"""ShareUpdate (record type 1 of __share_group_state), version 0, flexible since 0.

What has changed since the last snapshot of a share-partition (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int16, int32, int64, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(1)
class ShareUpdateKey:
    group_id: str = field(string)
    topic_id: UUID = field(uuid)
    partition: int = field(int32)


@struct
class StateBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    delivery_state: int = field(int8)
    delivery_count: int = field(int16)


@record_value(1, versions=(0, 0), flexible=0)
class ShareUpdateValue:
    snapshot_epoch: int = field(int32)
    leader_epoch: int = field(int32)
    start_offset: int = field(int64)
    delivery_complete_count: int = field(int32, tag=0, default=-1)
    state_batches: list[StateBatch] = array(StateBatch)
