"""Zk Migration State Record (record type 21 of the metadata log)."""

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import int8


@metadata_record(21, versions=(0, 0))
class ZkMigrationStateRecord:
    zk_migration_state: int = field(int8)
