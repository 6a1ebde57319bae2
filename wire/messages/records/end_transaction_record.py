"""End Transaction Record (record type 24 of the metadata log)."""

from kafkalite.wire.declare import metadata_record


@metadata_record(24, versions=(0, 0))
class EndTransactionRecord:
    pass
