"""Topic Record (record type 2 of the metadata log)."""

from uuid import UUID

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import string, uuid


@metadata_record(2, versions=(0, 0))
class TopicRecord:
    name: str = field(string)
    topic_id: UUID = field(uuid)
