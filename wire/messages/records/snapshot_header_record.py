"""Snapshot Header Record."""

from kafkalite.wire.declare import data, field
from kafkalite.wire.fields import int16, int64


@data(versions=(0, 0), flexible=0)
class SnapshotHeaderRecord:
    version: int = field(int16)
    last_contained_log_timestamp: int = field(int64)
