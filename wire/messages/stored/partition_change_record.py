"""PartitionChangeRecord (record type 5 of the metadata log), versions 0-2, flexible since 0.

Null, or -2 for the leader and -1 for the recovery state, means unchanged.

    1  log directories of replicas (KIP-858)
    2  eligible leader replicas (KIP-966)
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int32, uuid
from kafkalite.wire.schema import field, metadata_record, nullable_array


@metadata_record(5, versions=(0, 2))
class PartitionChangeRecord:
    partition_id: int = field(int32, default=-1)
    topic_id: UUID = field(uuid)
    isr: list[int] | None = nullable_array(int32, tag=0)
    leader: int = field(int32, tag=1, default=-2)
    replicas: list[int] | None = nullable_array(int32, tag=2)
    removing_replicas: list[int] | None = nullable_array(int32, tag=3)
    adding_replicas: list[int] | None = nullable_array(int32, tag=4)
    leader_recovery_state: int = field(int8, tag=5, default=-1)
    directories: list[UUID] | None = nullable_array(uuid, since=1, tag=8)
    eligible_leader_replicas: list[int] | None = nullable_array(int32, since=2, tag=6)
    last_known_elr: list[int] | None = nullable_array(int32, since=2, tag=7)
