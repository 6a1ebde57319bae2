"""BeginTransactionRecord (record type 23 of the metadata log), version 0, flexible since 0.

The records that follow count only together (KIP-868).
"""

from kafkalite.wire.fields import nullable_string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(23, versions=(0, 0))
class BeginTransactionRecord:
    name: str | None = field(nullable_string, tag=0)
