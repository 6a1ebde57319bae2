"""UnfenceBrokerRecord (record type 8 of the metadata log), version 0, flexible since 0.

Superseded by BrokerRegistrationChangeRecord.
"""

from kafkalite.wire.fields import int32, int64
from kafkalite.wire.schema import field, metadata_record


@metadata_record(8, versions=(0, 0))
class UnfenceBrokerRecord:
    id: int = field(int32)
    epoch: int = field(int64)
