"""TopicRecord (record type 2 of the metadata log), version 0, flexible since 0.

A topic, by name and id.
"""

from uuid import UUID

from kafkalite.wire.fields import string, uuid
from kafkalite.wire.schema import field, metadata_record


@metadata_record(2, versions=(0, 0))
class TopicRecord:
    name: str = field(string)
    topic_id: UUID = field(uuid)
