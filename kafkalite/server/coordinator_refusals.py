"""Errors in place of coordinators' answers whose records were not replicated, for each API.

The request was handled, but its records did not reach the replicas in time. The error replaces the
answer. Source: GroupCoordinatorService, handleOffsetFetchException,
TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalite.apis import APIS
from kafkalite.apis.offset_fetch import GROUP_ERROR_SINCE, refused_offset
from kafkalite.coordinators.share_coordinator.state_log import coordinator_key
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.refusals import refuse
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kafkalite.wire.api_keys import OFFSET_FETCH_BATCHED_SINCE, ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.rows import row_of, rows_of

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequestRow,
        AddPartitionsToTxnResponseRow,
        AddPartitionsToTxnTopicResultRow,
    )

Failed = Mapping[str, ErrorCode]
"""Groups, transactional ids or share partitions whose answer may not be given, and the codes
instead."""

Refuse = Callable[["RequestContext", Any, Failed], Any]
"""Context, the answer as it was made, and those that failed: the answer to give."""


class Guard(NamedTuple):
    """One API: the keys that a request names, None for all; and its answer if some fail.

    Keys are group ids, transactional ids, or those of share partitions, by the internal topic.
    """

    keys: Callable[[Any], Collection[str] | None]
    refuse: Refuse
    topic: str = OFFSETS_TOPIC


def _code(failed: Failed) -> ErrorCode:
    return next(iter(failed.values()))


def _whole(context: RequestContext, made: object, failed: Failed) -> Any:
    """The code for the whole request, and no words."""
    refusal: Any = refuse(context.api_key, context.api_version, None, _code(failed))
    if hasattr(refusal, "error_message"):
        refusal.error_message = None
    return rows_of(refusal) if APIS[context.api_key].rows else refusal


def _not_committed(context: RequestContext, made: Any, failed: Failed) -> Any:
    """Each partition has the code, but for those that were refused anyway."""
    _, topics = row_of(made)
    code = _code(failed)
    return 0, [
        (*topic[:-1], [(index, known or code) for index, known in topic[-1]]) for topic in topics
    ]


def _not_fetched(context: RequestContext, made: Any, failed: Failed) -> Any:
    """NOT_COORDINATOR, whatever the reason: older consumers retry on no other code."""
    _, topics, _, groups = row_of(made)
    code = ErrorCode.NOT_COORDINATOR
    if context.api_version >= OFFSET_FETCH_BATCHED_SINCE:
        return 0, (), 0, [(each[0], (), code) if each[0] in failed else each for each in groups]
    if context.api_version >= GROUP_ERROR_SINCE:
        return 0, (), code, ()
    return (
        0,
        [(name, [refused_offset(row[0], code) for row in rows]) for name, rows in topics],
        0,
        (),
    )


def _each(results: str, key: str = "group_id") -> Refuse:
    """An answer with a list of groups, or of what has another `key`."""

    def refuse_each(context: RequestContext, made: Any, failed: Failed) -> Any:
        each = [
            type(one)(**{key: name, "error_code": failed[name]})
            if (name := getattr(one, key)) in failed
            else one
            for one in getattr(made, results)
        ]
        setattr(made, results, each)
        return made

    return refuse_each


def _of_row(position: int) -> Callable[[Any], Collection[str]]:
    def group_ids(request: Any) -> Collection[str]:
        return (request[position],)

    return group_ids


def _of_message(request: Any) -> Collection[str]:
    return (request.group_id,)


def _of_transaction(request: Any) -> Collection[str]:
    """The transactional id, if there is one."""
    return (request.transactional_id,) if request.transactional_id else ()


def _of_ended(request: Any) -> Collection[str]:
    return (request[0],) if request[0] else ()


def _of_added(request: AddPartitionsToTxnRequestRow) -> Collection[str]:
    transactions, transactional_id, *_ = request
    return {each[0] for each in transactions} if transactions else (transactional_id,)


def _not_added(
    context: RequestContext, made: AddPartitionsToTxnResponseRow, failed: Failed
) -> AddPartitionsToTxnResponseRow:
    """Each partition of a transaction has the code."""
    _, code, transactions, topics = made
    answers = [
        (each, _with_code_each(found, failed[each]) if each in failed else found)
        for each, found in transactions
    ]
    return 0, code, answers, _with_code_each(topics, _code(failed)) if topics else topics


def _with_code_each(
    topics: Collection[AddPartitionsToTxnTopicResultRow], code: ErrorCode
) -> list[AddPartitionsToTxnTopicResultRow]:
    return [(name, [(index, code) for index, _ in partitions]) for name, partitions in topics]


def _of_share_partitions(request: Any) -> Collection[str]:
    return {
        coordinator_key(SharePartitionKey(request.group_id, topic.topic_id, each.partition))
        for topic in request.topics
        for each in topic.partitions
    }


def _states_refused(context: RequestContext, made: Any, failed: Failed) -> Any:
    """Each partition that failed has the code, and nothing else. All are of one group."""
    codes = {tuple(key.rsplit(":", 2)[1:]): code for key, code in failed.items()}
    for topic in made.results:
        topic.partitions = [
            type(each)(partition=each.partition, error_code=code)
            if (code := codes.get((kafka_uuid(topic.topic_id), str(each.partition))))
            else each
            for each in topic.partitions
        ]
    return made


def _listed(name: str) -> Callable[[Any], Collection[str]]:
    def group_ids(request: object) -> Collection[str]:
        found: Collection[str] = getattr(request, name)
        return found

    return group_ids


def _of_groups(request: Any) -> Collection[str]:
    return [group.group_id for group in request.groups]


def _all(request: object) -> None:
    return None


def _of_offset_fetch(request: Any) -> Collection[str]:
    group_id, _, groups, _ = request
    return [group[0] for group in groups] if groups else (group_id,)


GUARDS: Final[Mapping[ApiKey, Guard]] = {
    ApiKey.OFFSET_COMMIT: Guard(_of_row(0), _not_committed),
    ApiKey.TXN_OFFSET_COMMIT: Guard(_of_row(1), _not_committed),
    ApiKey.OFFSET_FETCH: Guard(_of_offset_fetch, _not_fetched),
    ApiKey.OFFSET_DELETE: Guard(_of_message, _whole),
    ApiKey.JOIN_GROUP: Guard(_of_message, _whole),
    ApiKey.SYNC_GROUP: Guard(_of_row(0), _whole),
    ApiKey.HEARTBEAT: Guard(_of_row(0), _whole),
    ApiKey.LEAVE_GROUP: Guard(_of_message, _whole),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Guard(_of_row(0), _whole),
    ApiKey.DESCRIBE_GROUPS: Guard(_listed("groups"), _each("groups")),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Guard(_listed("group_ids"), _each("groups")),
    ApiKey.STREAMS_GROUP_HEARTBEAT: Guard(_of_row(0), _whole),
    ApiKey.STREAMS_GROUP_DESCRIBE: Guard(_listed("group_ids"), _each("groups")),
    ApiKey.SHARE_GROUP_HEARTBEAT: Guard(_of_row(0), _whole),
    ApiKey.SHARE_GROUP_DESCRIBE: Guard(_listed("group_ids"), _each("groups")),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Guard(_of_groups, _each("groups")),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Guard(_of_message, _whole),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Guard(_of_message, _whole),
    ApiKey.DELETE_GROUPS: Guard(_listed("groups_names"), _each("results")),
    ApiKey.LIST_GROUPS: Guard(_all, _whole),
    ApiKey.INIT_PRODUCER_ID: Guard(_of_transaction, _whole, TRANSACTIONS_TOPIC),
    ApiKey.ADD_PARTITIONS_TO_TXN: Guard(_of_added, _not_added, TRANSACTIONS_TOPIC),
    ApiKey.ADD_OFFSETS_TO_TXN: Guard(_of_transaction, _whole, TRANSACTIONS_TOPIC),
    ApiKey.END_TXN: Guard(_of_ended, _whole, TRANSACTIONS_TOPIC),
    ApiKey.DESCRIBE_TRANSACTIONS: Guard(
        _listed("transactional_ids"),
        _each("transaction_states", "transactional_id"),
        TRANSACTIONS_TOPIC,
    ),
    ApiKey.LIST_TRANSACTIONS: Guard(_all, _whole, TRANSACTIONS_TOPIC),
} | {
    key: Guard(_of_share_partitions, _states_refused, SHARE_STATE_TOPIC)
    for key in (
        *(ApiKey.INITIALIZE_SHARE_GROUP_STATE, ApiKey.READ_SHARE_GROUP_STATE),
        *(ApiKey.WRITE_SHARE_GROUP_STATE, ApiKey.DELETE_SHARE_GROUP_STATE),
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    )
}
