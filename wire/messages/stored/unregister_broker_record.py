"""UnregisterBrokerRecord (record type 1 of the metadata log), version 0, flexible since 0.

A broker that the cluster shall forget.
"""

from kafkalite.wire.fields import int32, int64
from kafkalite.wire.schema import field, metadata_record


@metadata_record(1, versions=(0, 0))
class UnregisterBrokerRecord:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64)
