"""ZkMigrationStateRecord (record type 21 of the metadata log), version 0, flexible since 0.

How far the migration from ZooKeeper was (KIP-866): a log of 3.x may contain it.
"""

from kafkalite.wire.fields import int8
from kafkalite.wire.schema import field, metadata_record


@metadata_record(21, versions=(0, 0))
class ZkMigrationStateRecord:
    zk_migration_state: int = field(int8)
