"""BrokerRegistrationChangeRecord (record type 17 of the metadata log), versions 0-3,
flexible since 0.

0 or null means unchanged.

    1  in controlled shutdown (KIP-841)
    2  log directories (KIP-858)
    3  cordoned log directories (KIP-1066)
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int32, int64, uuid
from kafkalite.wire.schema import array, field, metadata_record, nullable_array


@metadata_record(17, versions=(0, 3))
class BrokerRegistrationChangeRecord:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64)
    fenced: int = field(int8, tag=0)
    in_controlled_shutdown: int = field(int8, since=1, tag=1)
    log_dirs: list[UUID] = array(uuid, since=2, tag=2)
    cordoned_log_dirs: list[UUID] | None = nullable_array(uuid, since=3, tag=3)
