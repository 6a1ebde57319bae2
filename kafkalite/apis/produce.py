"""Produce (key 0), versions 3-13: append one batch to each partition named.

Advertised from 0 (see the table in `__init__`), served from 3, where the v2 record batch begins.

- v5 answers with the log start offset, v8 with record errors and an error message (KIP-467), v10
  tells who leads instead (KIP-951), v11 knows TRANSACTION_ABORTABLE, v12 adds partitions to the
  transaction by itself (KIP-890), v13 names topics by id (KIP-516). zstd is allowed from v7.
- acks=all is answered once the high watermark has passed, which is at once, unless
  `kafkalite.visible.after.flush` holds it back: then the answer waits for the flush, up to
  `timeout_ms` (REQUEST_TIMED_OUT: appended, and perhaps flushed later), as Kafka's DelayedProduce.
- What `flush.messages` has flushed is answered after the flush, whatever the acks
  (UnifiedLog.append).
- acks=0 has no answer; an error then closes the connection, which is the only sign there is.
- A partition that fails does not touch the others. Of one named twice the last batch counts.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

# validation.py needs it for odd batches, and loads it late.
import kafkalite.log.record_reader  # noqa: F401 # pyright: ignore[reportUnusedImport]
from kafkalite.coordinators.produce_transactions import (
    NotInTransaction,
    await_previous_transaction,
    begin_transaction,
)
from kafkalite.log.checked_batch import CheckedBatch, CheckFirst
from kafkalite.log.errors import TakesLong
from kafkalite.log.joined_writes import JoinedWrites
from kafkalite.replica.partition import ALL_IN_SYNC, Partition
from kafkalite.replica.pending_append import PendingAppend, until_flushed, until_seen
from kafkalite.replica.produced_batches import (
    Batches,
    are_named_twice,
    check_shape,
    each_once,
    is_transactional,
    look_at,
    look_at_all,
    may_be_refused,
    refusal_of,
    refuse_instead,
)
from kafkalite.replica.produced_rows import (
    NO_LEADER,
    ProducedRows,
    check_first,
    error_row,
    failed_row,
    hang_up_on_error,
    refused_rows,
)
from kafkalite.replica.unwritten_produce import UnwrittenProduce
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import WaitingSteps, in_slices, is_long, release
from kafkalite.wire.api_keys import PRODUCE_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.produce import (
    NodeEndpointRow,
    PartitionProduceDataRow,
    PartitionProduceResponseRow,
    ProduceRequestRow,
    ProduceResponseRow,
    TopicProduceDataRow,
    TopicProduceResponseRow,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkalite.services import Services

_VALID_ACKS: Final = (-1, 0, 1)
# A partition takes 2 or 3 microseconds. First appends, which make files, give way in time.
_MOST_AT_ONCE: Final = 1024
# Partitions that are appended to in one step; the time is looked at after every fourth.
_IN_ONE_STEP: Final = 8
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_UNKNOWN_ID: Final = ErrorCode.UNKNOWN_TOPIC_ID

# Kafka's admin client alone may write to internal topics (KafkaApis.scala).
_ADMIN_CLIENT_ID: Final = "__admin_client"

_Response: TypeAlias = "ProduceResponseRow | Coroutine[Any, Any, ProduceResponseRow | None] | None"


def handle(
    services: Services, context: RequestContext, request: ProduceRequestRow
) -> ProduceResponseRow | Coroutine[Any, Any, ProduceResponseRow | None] | None:
    transactional_id = request[0]
    coordinator = services.transaction_coordinator
    if transactional_id is not None and coordinator.is_ending(transactional_id):
        return _append_after(services, context, request, transactional_id)
    return _append(services, context, request)


async def _append_after(
    services: Services, context: RequestContext, request: ProduceRequestRow, transactional_id: str
) -> ProduceResponseRow | None:
    """Append once the producer's previous transaction is complete."""
    await await_previous_transaction(
        services.transaction_coordinator, services.config, context, transactional_id
    )
    response = _append(services, context, request)
    return await response if isinstance(response, Coroutine) else response


def _append(
    services: Services, context: RequestContext, request: ProduceRequestRow
) -> ProduceResponseRow | Coroutine[Any, Any, ProduceResponseRow | None] | None:
    topics = request[3]
    if is_long(context, topics, _MOST_AT_ONCE):
        return _append_in_slices(_append_slowly(services, context, request), context)
    batches = look_at(topics, context.api_version)
    if may_be_refused(batches, request[0]) or are_named_twice(topics):
        return _append_in_slices(_append_slowly(services, context, request), context)
    produced = ProducedRows()
    joined: JoinedWrites | None = None
    # Replicas in other processes wait for the write, too.
    if services.joined_writes.is_open and not services.cluster.is_observed:
        joined = services.joined_writes
        joined.add(UnwrittenProduce(services.topics, request[1], produced.responses))
    for position, topic in enumerate(topics):
        if topic[2]:  # as Kafka: the response names no other topic
            rows: list[PartitionProduceResponseRow] = []
            produced.responses.append((topic[0], topic[1], rows))
            try:
                _append_to(services, context, request, batches, topic, rows, produced, None, joined)
            except CheckFirst:
                if joined is not None:
                    joined.settle()
                left = topics[position:]
                rest = _append_rest(services, context, request, batches, left, rows, produced)
                return _append_in_slices(rest, context)
    return _respond_to(services, context, request, produced)


async def _append_in_slices(
    steps: WaitingSteps[_Response], context: RequestContext
) -> ProduceResponseRow | None:
    """Append what takes long. Others may write to the partitions in between, as in Kafka."""
    response = await in_slices(steps, context)
    return await response if isinstance(response, Coroutine) else response


def _append_rest(
    services: Services,
    context: RequestContext,
    request: ProduceRequestRow,
    batches: Batches,
    topics: Sequence[TopicProduceDataRow],
    rows: list[PartitionProduceResponseRow],
    produced: ProducedRows,
) -> WaitingSteps[_Response]:
    """Go on with `topics`; the first has `rows` already."""
    for position, topic in enumerate(topics):
        if topic[2]:
            if position:
                rows = []
                produced.responses.append((topic[0], topic[1], rows))
            left = topic[0], topic[1], topic[2][len(rows) :]
            yield from _append_each(services, context, request, batches, left, rows, produced)
    return _respond_to(services, context, request, produced)


def _append_slowly(
    services: Services, context: RequestContext, request: ProduceRequestRow
) -> WaitingSteps[_Response]:
    batches = yield from look_at_all(request[3], context.api_version)
    topics, malformed = yield from each_once(request[3], context.api_version)
    about = services.topics, context.api_version, request[0], request[3]
    refusal = yield from refusal_of(*about, batches, topics)
    if refusal is not None:
        responses = yield from refused_rows(topics, refusal)
        return _respond(services, context, request[1], responses, set())
    produced = ProducedRows()
    for name, topic_id, partitions in topics:
        rows: list[PartitionProduceResponseRow] = []
        if partitions:
            produced.responses.append((name, topic_id, rows))
        topic = name, topic_id, partitions
        yield from _append_each(services, context, request, batches, topic, rows, produced)
        if errors := malformed.get((name, topic_id)):
            yield from refuse_instead(rows, errors, produced.pending)
    yield from release(chain((partitions for _, _, partitions in topics), (topics,)))
    return _respond_to(services, context, request, produced)


def _append_each(
    services: Services,
    context: RequestContext,
    request: ProduceRequestRow,
    batches: Batches,
    topic: TopicProduceDataRow,
    rows: list[PartitionProduceResponseRow],
    produced: ProducedRows,
) -> WaitingSteps[None]:
    """`_append_to` in steps. A batch whose check takes long is checked in a thread."""
    name, topic_id, partitions = topic
    before = len(rows)
    while (done := len(rows) - before) < len(partitions):
        some = name, topic_id, partitions[done : done + _IN_ONE_STEP]
        produced.begin_slice()
        try:
            _append_to(services, context, request, batches, some, rows, produced)
        except CheckFirst as first:
            if first.checked is not None:
                done, about = len(rows) - before, (services, context, request, batches)
                one = name, topic_id, partitions[done : done + 1]
                append = partial(_append_to, *about, one, rows, produced, first.checked)
                yield from first.checked.appending(append)
        yield None


def _append_to(
    services: Services,
    context: RequestContext,
    request: ProduceRequestRow,
    batches: Batches,
    topic: tuple[str, UUID, Sequence[PartitionProduceDataRow]],
    rows: list[PartitionProduceResponseRow],
    produced: ProducedRows,
    checked: CheckedBatch | None = None,
    joined: JoinedWrites | None = None,
) -> None:
    """Append to partitions of a topic. A row each says what came of it.

    Raises CheckFirst before the partition whose batch should be `checked` first, or when others
    should have their turn.
    """
    transactional_id, acks, _, _ = request
    name, topic_id, partitions = topic
    uses_topic_ids = context.api_version >= PRODUCE_BY_ID_SINCE
    found = services.topics.by_id(topic_id) if uses_topic_ids else services.topics.get(name)
    of_topic: list[Partition] = [] if found is None else found.partitions
    count, node_id, are_valid_acks = len(of_topic), context.node_id, acks in _VALID_ACKS
    now_ms = services.now_ms()
    for index, records in partitions:
        if checked is None:
            produced.give_way_in_time()
        partition: Partition | None = None
        try:
            if found is None or not 0 <= index < count:
                is_unknown_id = uses_topic_ids and found is None
                raise KafkaError(_UNKNOWN_ID if is_unknown_id else _UNKNOWN)
            if records is None or not batches.are_whole:
                records = check_shape(records, context.api_version)
            partition = of_topic[index]
            partition.check_leader(node_id, -1, leader_only=True)
            guard = None
            if batches.has_transactional and is_transactional(records):
                guard = begin_transaction(
                    services.transaction_coordinator,
                    services.config,
                    context,
                    transactional_id,
                    partition,
                    records,
                )
            if not are_valid_acks:
                raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
            if found.is_internal and context.client_id != _ADMIN_CLIENT_ID:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            info = partition.append(
                records,
                required_acks=acks,
                verification_guard=guard,
                checked=checked,
                briefly=True,
                now_ms=now_ms,
                joined=joined,
            )
        except TakesLong:
            raise check_first(partition, records) from None
        except KafkaError as error:
            is_outside = isinstance(error, NotInTransaction)
            row = failed_row(context, index, error, partition, produced.leaders, is_outside)
            rows.append(row)
        else:
            produced.appended(partition, rows, index, info)


def _respond_to(
    services: Services, context: RequestContext, request: ProduceRequestRow, produced: ProducedRows
) -> ProduceResponseRow | Coroutine[Any, Any, ProduceResponseRow | None] | None:
    """The response; a coroutine of it where what was appended is to be waited for."""
    _, acks, timeout_ms, _ = request
    responses, pending, leaders = produced.responses, produced.pending, produced.leaders
    if pending and any(each.log.awaits_flush for each in pending):
        return _await_flushes(services, context, request, pending, responses, leaders)
    if pending and acks == ALL_IN_SYNC:
        return _await_acks(services, context, timeout_ms, pending, responses, leaders)
    return _respond(services, context, acks, responses, leaders)


def _respond(
    services: Services,
    context: RequestContext,
    acks: int,
    responses: list[TopicProduceResponseRow],
    leaders: set[int],
) -> ProduceResponseRow | None:
    if acks == 0:
        hang_up_on_error(responses)
        return None
    endpoints: Sequence[NodeEndpointRow] = ()
    if leaders:
        endpoints = services.cluster.endpoints(leaders, context.listener_name)
    return responses, 0, endpoints


async def _await_flushes(
    services: Services,
    context: RequestContext,
    request: ProduceRequestRow,
    pending: list[PendingAppend],
    responses: list[TopicProduceResponseRow],
    leaders: set[int],
) -> ProduceResponseRow | None:
    """Wait until all appends are flushed; then as if that had been at once."""
    _, acks, timeout_ms, _ = request
    await context.connection.move_to_task()
    await until_flushed(pending)
    flushed: list[PendingAppend] = []
    for each in pending:
        state = each.flush_state()
        if state is None or state is ErrorCode.NONE:
            flushed.append(each)
        else:
            index = each.rows[each.position][0]
            each.rows[each.position] = error_row(index, KafkaError(state), None)
    if flushed and acks == ALL_IN_SYNC:
        return await _await_acks(services, context, timeout_ms, flushed, responses, leaders)
    return _respond(services, context, acks, responses, leaders)


async def _await_acks(
    services: Services,
    context: RequestContext,
    timeout_ms: int,
    pending: list[PendingAppend],
    responses: list[TopicProduceResponseRow],
    leaders: set[int],
) -> ProduceResponseRow | None:
    """Wait until all appends are visible, or the time is over; say what became of each."""
    await context.connection.move_to_task()
    await until_seen(pending, context.node_id, context.received_at + timeout_ms / 1000)
    for each in pending:
        code = each.outcome(context.node_id)
        index, _, base_offset, time_ms, log_start_offset, _, _, _ = each.rows[each.position]
        each.rows[each.position] = (
            *(index, code, base_offset, time_ms, log_start_offset),
            *((), None, NO_LEADER),
        )
    return _respond(services, context, ALL_IN_SYNC, responses, leaders)
