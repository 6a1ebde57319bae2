"""Snapshot Footer Record."""

from kafkalite.wire.declare import data, field
from kafkalite.wire.fields import int16


@data(versions=(0, 0), flexible=0)
class SnapshotFooterRecord:
    version: int = field(int16)
