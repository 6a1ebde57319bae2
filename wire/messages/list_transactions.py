"""ListTransactions (key 66), versions 0-2, flexible since 0.

Which transactions there are (KIP-664).

    1  only those open for so long (KIP-994)
    2  only transactional ids of a pattern; INVALID_REGULAR_EXPRESSION is possible (KIP-1152)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0)
class ListTransactionsRequest:
    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = field(int64, since=1, default=-1)
    transactional_id_pattern: str | None = field(nullable_string, since=2)


@struct
class TransactionState:
    transactional_id: str = field(string)
    producer_id: int = field(int64)
    transaction_state: str = field(string)


@response(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible=0)
class ListTransactionsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    unknown_state_filters: list[str] = array(string)
    transaction_states: list[TransactionState] = array(TransactionState)
