"""ProducerSnapshot, version 1.

The .snapshot file beside a log: producers, their last batch, their open transaction. The CRC-32C
covers what follows it.
"""

from kafkalite.wire.fields import int16, int32, int64, uint32
from kafkalite.wire.schema import array, data, field, struct


@struct
class ProducerEntry:
    producer_id: int = field(int64)
    epoch: int = field(int16)
    last_sequence: int = field(int32)
    last_offset: int = field(int64)
    offset_delta: int = field(int32)
    timestamp: int = field(int64)
    coordinator_epoch: int = field(int32)
    current_txn_first_offset: int = field(int64)


@data(versions=(1, 1), flexible=None)
class ProducerSnapshot:
    crc: int = field(uint32)
    producer_entries: list[ProducerEntry] = array(ProducerEntry)
