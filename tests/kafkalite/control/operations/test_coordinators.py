"""Verbs of coordinators, against what FindCoordinator says to clients."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kafkalite.control.problems import Problem
from kafkalite.requests import slices
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest


async def found(client: Any, key: str, key_type: int) -> int:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    answer = await client.ask(request, 4)
    return int(answer.coordinators[0].node_id)


@pytest.mark.parametrize(("name", "key_type"), [("group", 0), ("transaction", 1)])
async def test_a_coordinator_is_moved(
    three: test_broker, connect: Any, name: str, key_type: int
) -> None:
    k: Any = three.asynchronous
    client = await connect(three)
    before = await k.coordinator(**{name: "billing"})
    assert await found(client, "billing", key_type) == before.node
    after = await k.move_coordinator(**{name: "billing"})
    assert after.node != before.node
    assert await found(client, "billing", key_type) == after.node
    assert (after.topic, after.partition) == (before.topic, before.partition)
    moved = await k.move_coordinator(**{name: "billing"}, to=before.node)
    assert moved == before == await k.coordinator(**{name: "billing"})


async def test_one_of_both_is_asked_for(three: test_broker) -> None:
    k: Any = three.asynchronous
    for both in ({}, {"group": "g", "transaction": "t"}):
        with pytest.raises(Problem, match="give one of"):
            await k.coordinator(**both)
    with pytest.raises(Problem, match="node 9 is not in sync"):
        await k.move_coordinator(group="g", to=9)


@pytest.mark.parametrize("verb", ["coordinator", "seek"])
async def test_a_missing_internal_topic_is_created_in_slices(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partitions are many, and others have their turn between them."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    count, turns = 40, 0

    async def count_turns(scope: trio.CancelScope) -> None:
        nonlocal turns
        with scope:
            while True:
                await trio.lowlevel.checkpoint()
                turns += 1

    async with (
        test_broker({"offsets.topic.num.partitions": str(count)}) as b,
        trio.open_nursery() as nursery,
    ):
        k: Any = b.asynchronous
        await k.create_topic("t")
        counting = trio.CancelScope()
        nursery.start_soon(count_turns, counting)
        await trio.lowlevel.checkpoint()
        turns = 0
        if verb == "seek":
            await k.group("billing").seek("t", 0)
        else:
            await k.coordinator(group="billing")
        counting.cancel()
        assert turns >= count
