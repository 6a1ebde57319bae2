"""NoOpRecord (record type 20 of the metadata log), version 0, flexible since 0.

Nothing: it moves the offset forward, so that all can see that the log lives (KIP-835).
"""

from kafkalite.wire.schema import metadata_record


@metadata_record(20, versions=(0, 0))
class NoOpRecord:
    pass
