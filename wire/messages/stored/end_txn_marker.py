"""EndTxnMarker, version 0.

The value of a transaction marker, a control record (KIP-98); its key says whether it commits or
aborts.
"""

from kafkalite.wire.fields import int32
from kafkalite.wire.schema import data, field


@data(versions=(0, 0), flexible=None)
class EndTxnMarker:
    coordinator_epoch: int = field(int32)
