"""RemoveTopicRecord (record type 9 of the metadata log), version 0, flexible since 0.

A topic that is gone.
"""

from uuid import UUID

from kafkalite.wire.fields import uuid
from kafkalite.wire.schema import field, metadata_record


@metadata_record(9, versions=(0, 0))
class RemoveTopicRecord:
    topic_id: UUID = field(uuid)
