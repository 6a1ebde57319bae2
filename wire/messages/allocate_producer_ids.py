"""AllocateProducerIds (key 67), version 0, flexible since 0.

A broker asks the active controller for a block of producer ids (KIP-730).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64
from kafkalite.wire.schema import field, request, response


@request(ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0)
class AllocateProducerIdsRequest:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)


@response(ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0)
class AllocateProducerIdsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    producer_id_start: int = field(int64)
    producer_id_len: int = field(int32)
