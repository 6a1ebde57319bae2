"""Snapshot Footer Record."""

from kafkalite.wire.declare import field, versioned
from kafkalite.wire.fields import int16


@versioned(versions=(0, 0), flexible=0)
class SnapshotFooterRecord:
    version: int = field(int16)
