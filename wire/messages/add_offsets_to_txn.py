"""AddOffsetsToTxn (key 25), versions 0-4, flexible since 3.

Tells the transaction coordinator that offsets of a group will be committed (KIP-98).

    1  answered first and throttled by the client afterwards (KIP-219)
    2  PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
    4  TRANSACTION_ABORTABLE is possible (KIP-890)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, string
from kafkalite.wire.schema import field, request, response


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
