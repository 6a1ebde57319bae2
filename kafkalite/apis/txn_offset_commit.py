"""TxnOffsetCommit (key 28), versions 0-5: offsets that count once the transaction is committed
(KIP-98).

v3 names the group's member and generation, so that a consumer that lost its partitions is fenced
(KIP-447). v4 knows TRANSACTION_ABORTABLE; v5 is that of transactions v2 (KIP-890): the group's
partition of `__consumer_offsets` is added to the transaction here, and no longer by
AddOffsetsToTxn.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.coordinators.produce_transactions import VERIFIES
from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.requests.context import RequestContext
from kafkalite.requests.refused_first import refused_first
from kafkalite.requests.slices import AT_ONCE, Steps, at_once, in_slices, is_long
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.api_keys import TXN_OFFSET_COMMIT_OF_V2_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestRow,
    TxnOffsetCommitRequestTopicRow,
    TxnOffsetCommitResponseRow,
)

if TYPE_CHECKING:
    from kafkalite.log.verification import VerificationGuard
    from kafkalite.replica.partition import Partition
    from kafkalite.services import Services

_ABORTABLE_SINCE: Final = 4


def handle(
    services: Services, context: RequestContext, request: TxnOffsetCommitRequestRow
) -> TxnOffsetCommitResponseRow | Coroutine[Any, Any, TxnOffsetCommitResponseRow]:
    steps = _commit(services, context, request)
    return in_slices(steps, context) if is_long(context, request[7]) else at_once(steps)


def _commit(
    services: Services, context: RequestContext, request: TxnOffsetCommitRequestRow
) -> Steps[TxnOffsetCommitResponseRow]:
    router = services.group_coordinator.offset_router
    # Kafka's rule: a topic that exists, but of which nothing is committed, is not in the response.
    named: list[TxnOffsetCommitRequestTopicRow] = []
    for topic in request[7]:
        if topic[1] or not services.topics.get(topic[0]):
            named.append(topic)
        if len(named) > AT_ONCE:
            yield
    request = (*request[:7], named)
    is_any_there = yield from names_any(services, named)
    begin = partial(_begin, services, context, request) if is_any_there else _nothing
    throttle_ms, answered = yield from router.txn_commit(context, request, begin)
    return throttle_ms, (yield from refused_first(answered))


def _nothing() -> None:
    """Nothing will be written."""


def _begin(services: Services, context: RequestContext, request: TxnOffsetCommitRequestRow) -> None:
    """See to it that the partition of the offsets is in the transaction."""
    partition = first_written(services, context, request)
    if partition is None:
        return
    producer = Producer(request[0], request[2], request[3])
    try:
        if context.guard_of is not None:
            _check_guard(context.guard_of, partition, producer)
            return
        services.transaction_coordinator.join(
            producer, TopicPartition(OFFSETS_TOPIC, partition.index), adds=adds(context)
        )
    except KafkaError as error:
        if error.code is ErrorCode.TRANSACTION_ABORTABLE and context.api_version < _ABORTABLE_SINCE:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE) from error
        if error.code is ErrorCode.NETWORK_EXCEPTION:  # older clients do not try that again
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from error
        raise


def _check_guard(
    guard_of: Callable[[Partition], VerificationGuard | None],
    partition: Partition,
    producer: Producer,
) -> None:
    """The coordinator, elsewhere, agreed; but the transaction may have ended meanwhile."""
    guard = guard_of(partition)
    if not partition.log.producer_state.verifications.is_guard(producer.producer_id, guard):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)


def adds(context: RequestContext) -> bool:
    """True if the client leaves it to us to add the partition to the transaction."""
    return context.api_version >= TXN_OFFSET_COMMIT_OF_V2_SINCE


def names_any(services: Services, topics: Sequence[TxnOffsetCommitRequestTopicRow]) -> Steps[bool]:
    """True if a partition exists; else nothing will be written."""
    for number, (name, rows) in enumerate(topics):
        topic = services.topics.get(name)
        if topic is not None:
            count = len(topic.partitions)
            for row in rows:
                if 0 <= row[0] < count:
                    return True
        if number % AT_ONCE == AT_ONCE - 1:
            yield
    return False


def first_written(
    services: Services, context: RequestContext, request: TxnOffsetCommitRequestRow
) -> Partition | None:
    """The partition that the offsets go to, if their coordinator is to be asked before.

    Raises KafkaError: NOT_COORDINATOR, INVALID_PRODUCER_EPOCH.
    """
    _, group_id, producer_id, producer_epoch, _, _, _, _ = request
    offsets = services.topics.get(OFFSETS_TOPIC)
    if offsets is None:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)
    partition = offsets.coordinating(group_id)
    if partition.leader_id != context.node_id:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)
    if not adds(context) and not services.config.boolean(VERIFIES, context.node_id):
        return None
    producers = partition.log.producer_state
    producers.check_epoch(producer_id, producer_epoch)
    return None if producers.has_ongoing_transaction(producer_id, producer_epoch) else partition
