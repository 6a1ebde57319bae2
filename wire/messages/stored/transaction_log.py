"""TransactionLog (record type 0 of __transaction_state), versions 0-1, flexible since 1.

The state of a transactional id.

    1  flexible; producer ids before and after an overflow, client transaction version, tagged
       (KIP-890)
"""

from kafkalite.wire.fields import int8, int16, int32, int64, string
from kafkalite.wire.schema import array, field, nullable_array, record_key, record_value, struct


@record_key(0)
class TransactionLogKey:
    transactional_id: str = field(string)


@struct
class PartitionsSchema:
    topic: str = field(string)
    partition_ids: list[int] = array(int32)


@record_value(0, versions=(0, 1), flexible=1)
class TransactionLogValue:
    producer_id: int = field(int64)
    previous_producer_id: int = field(int64, since=1, tag=0, default=-1)
    next_producer_id: int = field(int64, since=1, tag=1, default=-1)
    producer_epoch: int = field(int16)
    next_producer_epoch: int = field(int16, since=1, tag=3, default=-1)
    transaction_timeout_ms: int = field(int32)
    transaction_status: int = field(int8)
    transaction_partitions: list[PartitionsSchema] | None = nullable_array(
        PartitionsSchema, default=[]
    )
    transaction_last_update_timestamp_ms: int = field(int64)
    transaction_start_timestamp_ms: int = field(int64)
    client_transaction_version: int = field(int16, since=1, tag=2)
