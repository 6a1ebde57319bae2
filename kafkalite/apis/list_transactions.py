"""ListTransactions (key 66), versions 0-2: the transactional ids this node coordinates (KIP-664).

v1 filters by how long a transaction is open (KIP-994), v2 by a pattern of the whole id, in RE2's
syntax (KIP-1152).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.coordinators.transaction_coordinator.transaction import Transaction
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState as State
from kafkalite.group_coordinator.subscriptions import compile_expression
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_STATES = {state.title: state for state in State}


def handle(
    services: Services, context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    try:
        is_wanted = _filter(request, services.now_ms())
        transactions = services.transaction_coordinator.of_node(context.node_id)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in _STATES],
        transaction_states=[
            TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.title,
            )
            for transaction in transactions
            if is_wanted(transaction)
        ],
    )


def _filter(request: ListTransactionsRequest, now_ms: int) -> Callable[[Transaction], bool]:
    """Raises KafkaError(INVALID_REGULAR_EXPRESSION)."""
    states = {_STATES[name] for name in request.state_filters if name in _STATES}
    producer_ids = set(request.producer_id_filters)
    matches = compile_expression(request.transactional_id_pattern or "(?s).*")

    def is_wanted(transaction: Transaction) -> bool:
        duration_ms = now_ms - transaction.start_timestamp_ms
        return (
            (not request.state_filters or transaction.state in states)
            and (not producer_ids or transaction.producer_id in producer_ids)
            and (request.duration_filter < 0 or duration_ms > request.duration_filter)
            and matches(transaction.transactional_id)
        )

    return is_wanted
