"""ClientQuotaRecord (record type 14 of the metadata log), version 0, flexible since 0.

A quota, or its removal (KIP-546).
"""

from kafkalite.wire.fields import boolean, float64, nullable_string, string
from kafkalite.wire.schema import array, field, metadata_record, struct


@struct
class EntityData:
    entity_type: str = field(string)
    entity_name: str | None = field(nullable_string, default="")


@metadata_record(14, versions=(0, 0))
class ClientQuotaRecord:
    entity: list[EntityData] = array(EntityData)
    key: str = field(string)
    value: float = field(float64)
    remove: bool = field(boolean)
