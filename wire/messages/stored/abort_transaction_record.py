"""AbortTransactionRecord (record type 25 of the metadata log), version 0, flexible since 0.

The records since BeginTransactionRecord do not count (KIP-868).
"""

from kafkalite.wire.fields import nullable_string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(25, versions=(0, 0))
class AbortTransactionRecord:
    reason: str | None = field(nullable_string, tag=0)
