"""ListPartitionReassignments: a move is listed until its new replicas are in sync."""

from __future__ import annotations

from typing import Any

from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from tests.kafkalite.reassignments import make, moving, reassign, state_of


async def test_a_move_waits_for_a_node_that_is_down(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    three._running.services.cluster.fence(3)
    assert await reassign(client, 0, [3, 2]) == (0, None)
    assert await moving(client) == [(0, [3, 2, 1], [3], [1])]
    assert await moving(client, "t", "nosuch") == [(0, [3, 2, 1], [3], [1])]
    assert state_of(three).leader_id == 1
    at_once(three._running.services.cluster.unfencing(3))
    assert await moving(client) == []
    assert (state_of(three).replicas, state_of(three).leader_id) == ([3, 2], 3)
