"""ListTransactions: filters by state, producer id and name."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kafkalite.apis import list_transactions
from kafkalite.group_coordinator.expressions import look_at
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from tests.kafkalite.transactional import (
    NONE,
    Transactional,
)


async def test_listing(writer: Transactional, clients: Any) -> None:
    other = Transactional(await clients.connect(), "other")
    assert await other.init() is NONE
    assert await other.produce(b"open") is NONE

    async def listed(**filters: Any) -> set[str]:
        answer = await writer.client.ask(ListTransactionsRequest(**filters))
        assert not answer.error_code
        return {found.transactional_id for found in answer.transaction_states}

    assert await listed() == {"writer", "other"}
    assert await listed(state_filters=["Ongoing"]) == {"other"}
    assert await listed(producer_id_filters=[writer.producer_id]) == {"writer"}
    assert await listed(transactional_id_pattern="wri.*") == {"writer"}
    assert await listed(transactional_id_pattern="wri") == set()
    unknown = await writer.client.ask(ListTransactionsRequest(state_filters=["Asleep"] * 2))
    assert (unknown.unknown_state_filters, unknown.transaction_states) == (["Asleep"], [])
    for expression in ("(", "wri(?=t).*"):  # the second is one in Python, but not in RE2
        bad = await writer.client.ask(ListTransactionsRequest(transactional_id_pattern=expression))
        assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_a_thread_looks_for_a_pattern_that_is_new(
    writer: Transactional, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To compile one may take 55 ms, and to look at ten thousand ids another 43."""
    loop, lookers = threading.current_thread(), list[threading.Thread]()

    def told(pattern: str, ids: list[str]) -> None:
        lookers.append(threading.current_thread())
        look_at(pattern, ids)

    monkeypatch.setattr(list_transactions, "look_at", told)
    for _ in range(2):
        request = ListTransactionsRequest(transactional_id_pattern="w[r]i[t]er")
        answer = await writer.client.ask(request)
        assert [each.transactional_id for each in answer.transaction_states] == ["writer"]
    assert len(lookers) == 1
    assert loop not in lookers
