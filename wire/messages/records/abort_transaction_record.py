"""Abort Transaction Record (record type 25 of the metadata log)."""

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import nullable_string


@metadata_record(25, versions=(0, 0))
class AbortTransactionRecord:
    reason: str | None = field(nullable_string, tag=0)
