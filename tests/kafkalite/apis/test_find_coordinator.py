"""FindCoordinator: every version, every kind of key, several nodes."""

from __future__ import annotations

from typing import Any

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest


async def test_coordinators_move(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        client = await connect(b, 1)
        b._running.topics.create_internal("__consumer_offsets")
        for state in b._running.cluster.image.topics["__consumer_offsets"].partitions:
            assert len(state.replicas) == 1
        names = [f"group-{index}" for index in range(20)]
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=names)
        answer = await client.ask(request, 4)
        before = {found.key: found.node_id for found in answer.coordinators}
        assert set(before.values()) == {1, 2, 3}
        b.stop_node(3)
        answer = await client.ask(request, 4)
        told = {found.key: (found.error_code, found.node_id) for found in answer.coordinators}
        for name, node_id in before.items():
            assert told[name] == ((15, -1) if node_id == 3 else (0, node_id))
        b.start_node(3)
        answer = await client.ask(request, 4)
        assert {found.key: found.node_id for found in answer.coordinators} == before
