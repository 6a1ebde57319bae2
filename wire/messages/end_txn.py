"""EndTxn (key 26), versions 0-5, flexible since 3.

Commits or aborts a transaction (KIP-98).

    1  answered first and throttled by the client afterwards (KIP-219)
    2  PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
    4  TRANSACTION_ABORTABLE is possible (KIP-890)
    5  each transaction has a new producer epoch, which is in the response (KIP-890)
"""

from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, string
from kafkalite.wire.schema import field, request, response


@request(ApiKey.END_TXN, versions=(0, 5), flexible=3)
class EndTxnRequest:
    transactional_id: str = field(string)
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    committed: bool = field(boolean)


@response(ApiKey.END_TXN, versions=(0, 5), flexible=3)
class EndTxnResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    producer_id: int = field(int64, since=5, default=-1, ignorable=True)
    producer_epoch: int = field(int16, since=5, default=-1, ignorable=True)


# The same as rows (wire/rows.py).
EndTxnRequestRow: TypeAlias = tuple[str, int, int, bool]
EndTxnResponseRow: TypeAlias = tuple[int, int, int, int]
