"""The verbs of one thing: a fault, a group, a transaction, the clock."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.problems import Problem
from kafkalite.faults import count
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.group_requests import join, sync, with_words
from tests.kafkalite.transactional import Transactional


async def test_a_fault_ends_with_its_block(broker: test_broker, client: Any) -> None:
    with broker.fault("Metadata", times=None, do=count) as fault:
        await client.ask(MetadataRequest(topics=[]))
        assert fault.applied == fault.show().matched == 1
        assert fault.release() == 0
    assert broker.faults.list() == []
    with pytest.raises(Problem, match="no fault"):
        fault.show()


async def test_faults_are_taken_out_together(broker: test_broker) -> None:
    fault = broker.fault("EndTxn", do=count)
    broker.fault("EndTxn", id="other", optional=True, do=count)
    assert [each.rule.id for each in broker.faults.list()] == [fault.id, "other"]
    (told,) = broker.faults.unfired()
    assert fault.id in told
    broker.faults.clear()
    assert (broker.faults.list(), broker.faults.unfired()) == ([], [])


async def test_a_group_is_asked_by_its_id(clients: Any) -> None:
    client, _ = await with_words(clients)
    group = clients.broker.group("group")
    with pytest.raises(Problem, match="no group 'group'"):
        group.show()
    joined = await join(client)
    await sync(client, joined)
    assert group.show().members[0].member_id == joined.member_id
    assert group.rebalance().state == "PreparingRebalance"
    assert group.expire(joined.member_id) == [joined.member_id]
    k = clients.broker.asynchronous.group("group")
    sought = await k.seek("words", 0, 0)
    assert [(each.topic, each.offset) for each in sought.offsets] == [("words", 0)]
    await k.delete()
    with pytest.raises(Problem, match="no group 'group'"):
        group.show()


async def test_a_transaction_has_a_state(broker: test_broker, writer: Transactional) -> None:
    transaction = broker.transaction(writer.id)
    assert transaction.state == transaction.show().state == "Empty"
    await writer.produce(b"v")
    assert transaction.state == "Ongoing"
    assert (await broker.asynchronous.transaction(writer.id).abort()).id == writer.id
    await broker.asynchronous.wait.transaction(writer.id, "CompleteAbort")
    assert transaction.fence().producer_epoch > writer.epoch


async def test_the_clock_stands_within_a_block(broker: test_broker) -> None:
    clock = broker.clock
    with clock.frozen():
        assert clock.show().frozen
        assert clock.now_ms == clock.now_ms
    assert not clock.show().frozen
    with pytest.raises(Problem, match="no topic"), clock.frozen():
        broker.topic("none")
    assert not clock.show().frozen
    async with broker.asynchronous.clock.frozen():
        assert clock.show().frozen
    assert not clock.show().frozen


async def test_the_clock_moves_and_goes_back(broker: test_broker) -> None:
    clock = broker.clock
    before = clock.freeze().now_ms
    await broker.asynchronous.clock.advance("1h")
    assert clock.now_ms - before == 3_600_000
    assert clock.skew("-1h").skew_ms == -3_600_000
    assert clock.due == []
    assert not clock.run().frozen
    assert clock.reset().ahead_ms < 1000
