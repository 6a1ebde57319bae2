"""UnregisterBroker: the node leaves the metadata, and another leads."""

from __future__ import annotations

from typing import Any

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.kafkalite.reassignments import make, state_of


async def test_a_node_is_forgotten(three: test_broker, connect: Any) -> None:
    make(three, [3, 2])
    client = await connect(three)
    answer = await client.ask(UnregisterBrokerRequest(broker_id=3))
    assert (answer.error_code, answer.error_message) == (0, "")
    assert sorted(three._running.services.cluster.image.brokers) == [1, 2]
    assert state_of(three).leader_id == 2
    answer = await client.ask(UnregisterBrokerRequest(broker_id=3))
    assert answer.error_code == 102
