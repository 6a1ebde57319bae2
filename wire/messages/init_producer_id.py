"""InitProducerId (key 22), versions 0-5, flexible since 2."""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.declare import field, request, response
from kafkalite.wire.fields import int16, int32, int64, nullable_string


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
