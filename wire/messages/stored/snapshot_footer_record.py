"""SnapshotFooterRecord, version 0, flexible since 0.

The control record at the end of a KRaft snapshot (KIP-630).
"""

from kafkalite.wire.fields import int16
from kafkalite.wire.schema import field, versioned


@versioned(versions=(0, 0), flexible=0)
class SnapshotFooterRecord:
    version: int = field(int16)
