"""ShareSnapshot (record type 0 of __share_group_state), version 0, flexible since 0.

The whole state of a share-partition.

    0  all of it; the delivery complete count is tagged (KIP-932, KIP-1226)
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int16, int32, int64, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(0)
class ShareSnapshotKey:
    group_id: str = field(string)
    topic_id: UUID = field(uuid)
    partition: int = field(int32)


@struct
class StateBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    delivery_state: int = field(int8)
    delivery_count: int = field(int16)


@record_value(0, versions=(0, 0), flexible=0)
class ShareSnapshotValue:
    snapshot_epoch: int = field(int32)
    state_epoch: int = field(int32)
    leader_epoch: int = field(int32)
    start_offset: int = field(int64)
    delivery_complete_count: int = field(int32, tag=0, default=-1)
    create_timestamp: int = field(int64)
    write_timestamp: int = field(int64)
    state_batches: list[StateBatch] = array(StateBatch)
