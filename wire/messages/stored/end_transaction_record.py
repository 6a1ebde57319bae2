"""EndTransactionRecord (record type 24 of the metadata log), version 0, flexible since 0.

The records since BeginTransactionRecord count (KIP-868).
"""

from kafkalite.wire.schema import metadata_record


@metadata_record(24, versions=(0, 0))
class EndTransactionRecord:
    pass
