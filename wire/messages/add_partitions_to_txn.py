"""AddPartitionsToTxn (key 24), versions 0-5, flexible since 3.

Clients use versions up to 3, brokers those above.

    1  answered first and throttled by the client afterwards (KIP-219)
    2  PRODUCER_FENCED in place of INVALID_PRODUCER_EPOCH (KIP-588)
    4  several transactions at once, or only to verify; from brokers only (KIP-890)
    5  TRANSACTION_ABORTABLE is possible (KIP-890)
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AddPartitionsToTxnTopic:
    name: str = field(string)
    partitions: list[int] = array(int32)


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: str = field(string)
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    verify_only: bool = field(boolean)
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic)


@request(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3)
class AddPartitionsToTxnRequest:
    transactions: list[AddPartitionsToTxnTransaction] = array(
        AddPartitionsToTxnTransaction, since=4
    )
    v3_and_below_transactional_id: str = field(string, until=3)
    v3_and_below_producer_id: int = field(int64, until=3)
    v3_and_below_producer_epoch: int = field(int16, until=3)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, until=3)


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int = field(int32)
    partition_error_code: int = field(int16)


@struct
class AddPartitionsToTxnTopicResult:
    name: str = field(string)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult
    )


@struct
class AddPartitionsToTxnResult:
    transactional_id: str = field(string)
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult)


@response(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), flexible=3)
class AddPartitionsToTxnResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16, since=4, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = array(
        AddPartitionsToTxnResult, since=4
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult, until=3
    )


# The same as rows (wire/rows.py).
AddPartitionsToTxnTopicRow: TypeAlias = tuple[str, list[int]]
AddPartitionsToTxnTransactionRow: TypeAlias = tuple[
    str, int, int, bool, list[AddPartitionsToTxnTopicRow]
]
AddPartitionsToTxnRequestRow: TypeAlias = tuple[
    list[AddPartitionsToTxnTransactionRow], str, int, int, list[AddPartitionsToTxnTopicRow]
]
AddPartitionsToTxnPartitionResultRow: TypeAlias = tuple[int, int]
AddPartitionsToTxnTopicResultRow: TypeAlias = tuple[
    str, Sequence[AddPartitionsToTxnPartitionResultRow]
]
AddPartitionsToTxnResultRow: TypeAlias = tuple[str, Sequence[AddPartitionsToTxnTopicResultRow]]
AddPartitionsToTxnResponseRow: TypeAlias = tuple[
    int,
    int,
    Sequence[AddPartitionsToTxnResultRow],
    Sequence[AddPartitionsToTxnTopicResultRow],
]
