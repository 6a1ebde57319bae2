"""SnapshotHeaderRecord, version 0, flexible since 0.

The control record at the beginning of a KRaft snapshot (KIP-630).
"""

from kafkalite.wire.fields import int16, int64
from kafkalite.wire.schema import field, versioned


@versioned(versions=(0, 0), flexible=0)
class SnapshotHeaderRecord:
    version: int = field(int16)
    last_contained_log_timestamp: int = field(int64)
