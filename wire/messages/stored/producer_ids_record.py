"""ProducerIdsRecord (record type 15 of the metadata log), version 0, flexible since 0.

The block of producer ids that a broker was given (KIP-730).
"""

from kafkalite.wire.fields import int32, int64
from kafkalite.wire.schema import field, metadata_record


@metadata_record(15, versions=(0, 0))
class ProducerIdsRecord:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)
    next_producer_id: int = field(int64)
