"""ConfigRecord (record type 4 of the metadata log), version 0, flexible since 0.

A config of a resource; null removes it.
"""

from kafkalite.wire.fields import int8, nullable_string, string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(4, versions=(0, 0))
class ConfigRecord:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    name: str = field(string)
    value: str | None = field(nullable_string, default="")
