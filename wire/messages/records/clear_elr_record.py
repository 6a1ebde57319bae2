"""ClearElrRecord (record type 28 of the metadata log), version 0, flexible since 0.

Clears eligible leader replicas, of a topic or of all (KIP-966).
"""

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import string


@metadata_record(28, versions=(0, 0))
class ClearElrRecord:
    topic_name: str = field(string)
