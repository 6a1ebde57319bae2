"""RemoveAccessControlEntryRecord (record type 19 of the metadata log), version 0, flexible since 0.

An ACL that is gone (KIP-801).
"""

from uuid import UUID

from kafkalite.wire.fields import uuid
from kafkalite.wire.schema import field, metadata_record


@metadata_record(19, versions=(0, 0))
class RemoveAccessControlEntryRecord:
    id: UUID = field(uuid)
