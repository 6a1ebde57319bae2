"""DescribeTransactions (key 65), version 0, flexible since 0.

State and partitions of transactions (KIP-664).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest:
    transactional_ids: list[str] = array(string)


@struct
class TopicData:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@struct
class TransactionState:
    error_code: int = field(int16)
    transactional_id: str = field(string)
    transaction_state: str = field(string)
    transaction_timeout_ms: int = field(int32)
    transaction_start_time_ms: int = field(int64)
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    topics: list[TopicData] = array(TopicData)


@response(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse:
    throttle_time_ms: int = field(int32)
    transaction_states: list[TransactionState] = array(TransactionState)
