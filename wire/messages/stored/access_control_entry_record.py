"""AccessControlEntryRecord (record type 18 of the metadata log), version 0, flexible since 0.

An ACL (KIP-801).
"""

from uuid import UUID

from kafkalite.wire.fields import int8, string, uuid
from kafkalite.wire.schema import field, metadata_record


@metadata_record(18, versions=(0, 0))
class AccessControlEntryRecord:
    id: UUID = field(uuid)
    resource_type: int = field(int8)
    resource_name: str = field(string)
    pattern_type: int = field(int8)
    principal: str = field(string)
    host: str = field(string)
    operation: int = field(int8)
    permission_type: int = field(int8)
