"""Unfence Broker Record (record type 8 of the metadata log)."""

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import int32, int64


@metadata_record(8, versions=(0, 0))
class UnfenceBrokerRecord:
    id: int = field(int32)
    epoch: int = field(int64)
