"""InitProducerId (key 22), versions 0-5, flexible since 2.

A producer id, for idempotence and transactions (KIP-98). Version 6, for two-phase commit
(KIP-939), is not stable in Kafka 4.3 and not here.

    1  answered first and throttled by the client afterwards (KIP-219)
    3  producer id and epoch, to go on after an error by a new epoch (KIP-360)
    4  PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
    5  TRANSACTION_ABORTABLE is possible (KIP-890)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string
from kafkalite.wire.schema import field, request, response


@request(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), flexible=2)
class InitProducerIdRequest:
    transactional_id: str | None = field(nullable_string, default="")
    transaction_timeout_ms: int = field(int32)
    producer_id: int = field(int64, since=3, default=-1)
    producer_epoch: int = field(int16, since=3, default=-1)


@response(ApiKey.INIT_PRODUCER_ID, versions=(0, 5), flexible=2)
class InitProducerIdResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    producer_id: int = field(int64, default=-1)
    producer_epoch: int = field(int16)
