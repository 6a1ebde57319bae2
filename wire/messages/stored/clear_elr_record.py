"""ClearElrRecord (record type 28 of the metadata log), version 0, flexible since 0.

Clears eligible leader replicas, of a topic or of all (KIP-966).
"""

from kafkalite.wire.fields import string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(28, versions=(0, 0))
class ClearElrRecord:
    topic_name: str = field(string)
