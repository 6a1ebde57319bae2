"""AddOffsetsToTxn (key 25), versions 0-4, flexible since 3."""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.declare import field, request, response
from kafkalite.wire.fields import int16, int32, int64, string


@request(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3)
class AddOffsetsToTxnRequest:
    transactional_id: str = field(string)
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    group_id: str = field(string)


@response(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible=3)
class AddOffsetsToTxnResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
