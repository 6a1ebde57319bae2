"""The list of what is due is complete, and a jump to the next of it does it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.problems import Problem
from kafkalite.testing import broker
from tests.kafkalite.delegation_tokens import HOUR_MS, create, users_with_tokens
from tests.kafkalite.group_requests import join, sync, with_words
from tests.kafkalite.transactional import NONE, Transactional

WEEK_MS = 7 * 24 * HOUR_MS


async def test_retention_and_offsets_are_due_and_happen() -> None:
    async with broker() as running:
        k: Any = running.asynchronous
        await k.clock.freeze()
        await k.create_topic("orders", configs={"retention.ms": str(2 * HOUR_MS)})
        await k.create_topic("kept", configs={"retention.ms": "-1"})
        await k.create_topic("compacted", configs={"cleanup.policy": "compact"})
        await k.create_topic("empty", configs={"retention.ms": "1"})
        now_ms = (await k.clock.show()).now_ms
        for name in ("orders", "kept", "compacted"):
            await k.produce(name, "v", key="k", timestamp=now_ms)
        await k.group("billing").seek("orders", 1)
        first, second = (await k.clock.show()).due
        assert (first.what, first.at_ms - now_ms) == (
            "retention.ms of orders-0, from offset 0",
            2 * HOUR_MS + 1,
        )
        assert (second.what, second.at_ms - now_ms) == (
            "end of the offset of group billing for orders-0",
            WEEK_MS,
        )
        done = await k.clock.advance(next=True)
        assert done.deleted_segments == 1
        assert [each.what for each in (await k.clock.show()).due] == [second.what]
        assert done.next_due == second
        assert await k.committed("billing", "orders", 0) == 1
        done = await k.clock.advance(next=True)
        assert [each.what for each in done.fired] == ["offset of group billing for orders-0 ended"]
        with pytest.raises(Problem, match="no committed offset"):
            await k.committed("billing", "orders", 0)
        assert (await k.clock.show()).due == []


async def test_an_offset_that_a_sweep_within_the_jump_ends_is_told() -> None:
    async with broker() as running:
        k: Any = running.asynchronous
        await k.create_topic("orders")
        await k.group("billing").seek("orders", 0)
        done = await k.clock.advance("8d")
        assert [each.what for each in done.fired] == ["offset of group billing for orders-0 ended"]


async def test_delegation_tokens_are_due() -> None:
    async with users_with_tokens() as users:
        k: Any = users._broker.asynchronous
        await k.clock.freeze()
        token = await create(await users.user("alice"), max_lifetime_ms=HOUR_MS)
        (due,) = (await k.clock.show()).due
        assert (due.what, due.at_ms) == (
            f"end of delegation token {token.token_id}",
            token.max_timestamp_ms,
        )
        done = await k.clock.advance(next=True)
        assert [each.what for each in done.fired] == [f"delegation token {token.token_id} ended"]
        assert (await k.clock.show()).due == []


async def test_transactional_ids_and_producers_end(clients: Any) -> None:
    """After a week, and after a day, without a word of them."""
    client, _ = await with_words(clients)
    k: Any = clients.broker.asynchronous
    await k.clock.freeze()
    writer = Transactional(client)
    await writer.find_coordinators()
    assert await writer.init() == NONE
    assert await writer.produce(b"a") == NONE
    open_ones = [each.what for each in (await k.clock.show()).due]
    assert "timeout of the transaction of writer" in open_ones
    assert not [what for what in open_ones if "producer" in what or "id writer" in what]
    assert await writer.end(commit=True) == NONE
    now_ms = (await k.clock.show()).now_ms
    known, named = await _due(k, "producer"), await _due(k, "transactional id")
    assert known[f"end of producer {writer.producer_id} in words-0"] - now_ms <= 24 * HOUR_MS
    assert named == {"end of the transactional id writer": now_ms + WEEK_MS}
    done = await k.clock.advance("25h")
    assert f"producer {writer.producer_id} ended in words-0" in [each.what for each in done.fired]
    assert await _due(k, "producer") == {}
    done = await k.clock.advance("6d")
    assert "the transactional id writer ended" in [each.what for each in done.fired]
    assert await _due(k, "transactional id") == {}
    assert await k.transactions() == []


async def _due(k: Any, text: str) -> dict[str, int]:
    due = (await k.clock.show()).due
    return {each.what: each.at_ms for each in due if text in each.what}


async def test_a_group_that_a_jump_empties_is_still_there(clients: Any) -> None:
    client, _ = await with_words(clients)
    joined = await join(client)
    await sync(client, joined)
    k: Any = clients.broker.asynchronous
    done = await k.clock.advance("46s", members="expire")
    assert done.expired_members == [joined.member_id]
    assert (await k.group("group").show()).members == []
