"""End Txn Marker."""

from kafkalite.wire.declare import data, field
from kafkalite.wire.fields import int32


@data(versions=(0, 0), flexible=None)
class EndTxnMarker:
    coordinator_epoch: int = field(int32)
