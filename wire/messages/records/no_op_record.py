"""No Op Record (record type 20 of the metadata log)."""

from kafkalite.wire.declare import metadata_record


@metadata_record(20, versions=(0, 0))
class NoOpRecord:
    pass
