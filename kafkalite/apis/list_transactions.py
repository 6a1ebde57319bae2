"""ListTransactions (key 66), versions 0-2: the transactional ids this node coordinates (KIP-664).

v1 filters by how long a transaction is open (KIP-994), v2 by a pattern of the whole id, in RE2's
syntax (KIP-1152).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kafkalite.coordinators.transaction_coordinator.transaction import Transaction
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState as State
from kafkalite.group_coordinator.expressions import compile_expression, has_looked_at, look_at
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices, release_set
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_STATES = {state.title: state for state in State}


async def handle(
    services: Services, context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    pattern = request.transactional_id_pattern
    if not pattern:
        return await _matching(services, context, request, lambda name: True)
    ids: list[str] = []
    with suppress(KafkaError):
        of_node = services.transaction_coordinator.of_node(context.node_id)
        ids = [transaction.transactional_id for transaction in of_node]
    if not has_looked_at(pattern, ids):
        await context.connection.move_to_task()
        await in_disk_thread(partial(look_at, pattern, ids))
    try:
        matches = compile_expression(pattern)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
    return await _matching(services, context, request, matches)


async def _matching(
    services: Services,
    context: RequestContext,
    request: ListTransactionsRequest,
    matches: Callable[[str], bool],
) -> ListTransactionsResponse:
    try:
        transactions = services.transaction_coordinator.of_node(context.node_id)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
    listing = _listed(request, [*transactions], matches, services.now_ms())
    return await briefly_or_in_slices(listing, context)


def _listed(
    request: ListTransactionsRequest,
    transactions: Sequence[Transaction],
    matches: Callable[[str], bool],
    now_ms: int,
) -> Steps[ListTransactionsResponse]:
    """The transactions that all filters let through. Filters may be as long as requests are."""
    # A set of all ids of a filter may be so large that to make room in it takes long.
    there: set[int] = set()
    for several in batches(transactions):
        there.update(transaction.producer_id for transaction in several)
        yield
    producer_ids: set[int] = set()
    for ids in batches(request.producer_id_filters):
        producer_ids.update(there.intersection(ids))
        yield
    states, unknown = yield from _states(request.state_filters)
    answer = ListTransactionsResponse(unknown_state_filters=unknown)
    for some in batches(transactions):
        answer.transaction_states += [
            TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.title,
            )
            for transaction in some
            if (not request.state_filters or transaction.state in states)
            and (not request.producer_id_filters or transaction.producer_id in producer_ids)
            and _is_old_enough(transaction, request.duration_filter, now_ms)
            and matches(transaction.transactional_id)
        ]
        yield
    return answer


def _states(names: Sequence[str]) -> Steps[tuple[set[State], list[str]]]:
    """The states of these names, and the names that are of none, each once."""
    states: set[State] = set()
    seen: set[str] = set()
    unknown: list[str] = []
    for some in batches(names):
        for name in some:
            if name in _STATES:
                states.add(_STATES[name])
            elif name not in seen:
                seen.add(name)
                unknown.append(name)
        yield
    yield from release_set(seen)
    return states, unknown


def _is_old_enough(transaction: Transaction, duration_filter: int, now_ms: int) -> bool:
    return duration_filter < 0 or now_ms - transaction.start_timestamp_ms > duration_filter
