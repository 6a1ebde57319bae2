"""Verbs of faults: put in, replaced, released, and told of."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import trio
import trio.testing

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.values import fields_of
from kafkalite.control.faults.rule import Rule, When
from kafkalite.control.problems import Problem
from kafkalite.faults import count, delay, drop, error, hold
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest


async def test_a_fault_shows_what_became_of_it(broker: test_broker, client: Any) -> None:
    k = broker.asynchronous
    fault = await k.fault("Metadata", client_id="test", times=3, id="seen", do=count)
    other = await k.fault("Metadata", client_id="x", optional=True, do=drop.after)
    await client.ask(MetadataRequest(topics=[]))
    shown = await fault.show()
    assert (shown.matched, shown.applied, shown.left, shown.held) == (1, 1, 2, 0)
    assert [(hit.client_id, hit.api, hit.did) for hit in shown.hits] == [
        ("test", "Metadata", ["count"])
    ]
    missed = await other.show()
    assert [(each.criterion, each.count, each.seen) for each in missed.near] == [
        ("client_id", 1, ["'test'"])
    ]
    assert [each.rule.id for each in await k.faults.list()] == ["seen", other.id]
    with pytest.raises(Problem, match="already"):
        await k.fault("Metadata", id="seen", do=count)


async def test_a_hit_tells_the_request(broker: test_broker, connect: Any) -> None:
    """Its number leads to what the spy has kept of it: one of two that both clients send."""
    k = broker.asynchronous
    await k.clock.advance("7d")
    fault = await k.fault("Metadata", client_id="b", times=3, do=delay("1ms"))
    clients = {name: await connect(broker, client_id=name) for name in ("a", "b")}
    for name in ("b", "a", "a", "b"):
        await clients[name].ask(MetadataRequest(topics=[]), 9 if name == "a" else 11)
        if name == "b":
            await k.spy("on")
    shown = await fault.show()
    first, second = shown.hits
    assert first.seq is None  # the spy was off
    assert second.seq == 3
    entry = await k.ask("requests.show", seq=second.seq)
    assert (entry.client_id, entry.correlation_id, entry.version, entry.fault) == (
        "b",
        second.correlation_id,
        second.version,
        fault.id,
    )
    assert second.version == 11
    assert second.correlation_id > first.correlation_id
    assert entry.received_ms <= second.at_ms <= entry.answered_ms
    assert abs(second.cluster_ms - second.at_ms - 7 * 86_400_000) < 60_000


@pytest.mark.parametrize("applied", [False, True])
async def test_an_error_is_for_what_matched_or_for_all(
    broker: test_broker, client: Any, applied: bool
) -> None:
    k = broker.asynchronous
    broker.create_topic("t", partitions=2)
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 1)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=partitions)]
    )
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    wanted: list[tuple[Literal["matched", "all"], list[int]]] = [
        ("matched", [0, code]),
        ("all", [code, code]),
    ]
    for only, errors in wanted:
        refuse = error(code.name, apply=applied, only=only)
        async with await k.fault("ListOffsets", topic="t", partition=1, do=refuse):
            answer = await client.ask(request)
        assert [each.error_code for each in answer.topics[0].partitions] == errors


async def test_those_that_were_not_applied_are_told(broker: test_broker) -> None:
    k = broker.asynchronous
    assert await k.faults.unfired() == []
    await k.fault("EndTxn", id="never", do=drop.after)
    await k.fault("EndTxn", optional=True, do=drop.after)
    assert await k.faults.unfired() == ["fault never was never applied: no request of its API came"]
    await k.faults.clear()
    assert (await k.faults.list(), await k.faults.unfired()) == ([], [])


async def test_a_wait_for_requests_is_no_fault_that_is_listed(broker: test_broker) -> None:
    k = broker.asynchronous
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wait, k)
        await trio.testing.wait_all_tasks_blocked()
        assert broker._default.has_faults
        assert await k.faults.list() == []


async def _wait(k: Any) -> None:
    with pytest.raises(WaitTimeout, match="0 of 1 such requests came"):
        await k.wait.request("EndTxn", timeout="200ms")


class Asking:
    """Clients whose requests are held; `answered` counts those that went on."""

    def __init__(self) -> None:
        self.answered = 0

    async def ask(self, client: Any) -> None:
        await client.ask(MetadataRequest(topics=[]))
        self.answered += 1


@pytest.mark.parametrize("how", ["release", "remove", "replace", "replace_all", "clear"])
async def test_what_is_held_goes_when_its_fault_does(
    broker: test_broker, connect: Any, how: str
) -> None:
    k = broker.asynchronous
    fault = await k.fault("Metadata", times=2, id="held", do=hold)
    asking = Asking()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(asking.ask, await connect(broker))
            await k.wait.held(fault, 2)
            assert asking.answered == 0
            other = Rule(id="held", when=When(api="EndTxn"), do=(count,))
            match how:
                case "release":
                    assert await fault.release(1) == 1
                    await trio.testing.wait_all_tasks_blocked()
                    assert (await fault.show()).held == 1
                    assert await fault.release() == 1
                case "remove":
                    await fault.remove()
                case "replace":
                    await k.ask("faults.replace", **fields_of(other))
                case "replace_all":
                    await k.ask("faults.replace_all", faults=[other])
                case _:
                    await k.faults.clear()
    assert asking.answered == 2


async def test_what_is_not_there_cannot_be_released(broker: test_broker) -> None:
    k = broker.asynchronous
    for verb in ("faults.show", "faults.remove", "faults.release"):
        with pytest.raises(Problem, match="no fault 'none'"):
            await k.ask(verb, fault="none")


async def test_presets_are_listed_with_their_parameters(broker: test_broker) -> None:
    listed = {each.name: each for each in await broker.asynchronous.ask("faults.presets")}
    assert listed["lost_ack"].parameters == ["topic", "times"]
    assert listed["lost_ack"].doc.startswith("A Produce is written")


async def test_a_ready_made_fault_is_put_in(broker: test_broker) -> None:
    k = broker.asynchronous
    (shown,) = await k.ask("faults.preset", preset="lost_ack", parameters={"topic": "t"})
    assert (shown.rule.note, shown.rule.when.topic) == ("lost_ack", "t")
    assert [each.rule for each in await k.ask("faults.list")] == [shown.rule]
    presets = {each.name: each.required for each in await k.ask("faults.presets")}
    assert (presets["lost_ack"], presets["slow_broker"]) == ([], ["by"])
    with pytest.raises(Problem, match="no preset 'lost'"):
        await k.ask("faults.preset", preset="lost")
    await k.faults.clear()
