"""Begin Transaction Record (record type 23 of the metadata log)."""

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import nullable_string


@metadata_record(23, versions=(0, 0))
class BeginTransactionRecord:
    name: str | None = field(nullable_string, tag=0)
