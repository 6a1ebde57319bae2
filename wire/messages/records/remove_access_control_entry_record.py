"""Remove Access Control Entry Record (record type 19 of the metadata log)."""

from uuid import UUID

from kafkalite.wire.declare import field, metadata_record
from kafkalite.wire.fields import uuid


@metadata_record(19, versions=(0, 0))
class RemoveAccessControlEntryRecord:
    id: UUID = field(uuid)
