"""PartitionRecord (record type 3 of the metadata log), versions 0-2, flexible since 0.

A partition as it was created.

    1  log directories of replicas (KIP-858)
    2  eligible leader replicas (KIP-966)
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int32, uuid
from kafkalite.wire.schema import array, field, metadata_record, nullable_array


@metadata_record(3, versions=(0, 2))
class PartitionRecord:
    partition_id: int = field(int32, default=-1)
    topic_id: UUID = field(uuid)
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = field(int32, default=-1)
    leader_recovery_state: int = field(int8, tag=0)
    leader_epoch: int = field(int32, default=-1)
    partition_epoch: int = field(int32, default=-1)
    directories: list[UUID] = array(uuid, since=1)
    eligible_leader_replicas: list[int] | None = nullable_array(int32, since=2, tag=1)
    last_known_elr: list[int] | None = nullable_array(int32, since=2, tag=2)
