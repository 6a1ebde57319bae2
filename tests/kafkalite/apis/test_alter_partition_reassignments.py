"""AlterPartitionReassignments: replicas move, moves are cancelled or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from tests.kafkalite.reassignments import make, moving, reassign, state_of


@pytest.mark.parametrize("version", [0, 1])
async def test_a_partition_moves(three: test_broker, connect: Any, version: int) -> None:
    make(three, [1, 2])
    client = await connect(three)
    assert await reassign(client, 0, [3, 2], version) == (0, None)
    state = state_of(three)
    assert (state.replicas, sorted(state.in_sync_replicas), state.leader_id) == ([3, 2], [2, 3], 3)
    assert state.leader_epoch == 1
    assert await moving(client) == []
    assert await reassign(client, 0, [2], version) == (0, None)
    assert (state.replicas, state.in_sync_replicas, state.leader_id) == ([2], [2], 2)


async def test_a_move_may_be_cancelled(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    assert await reassign(client, 0, None) == (85, None)
    three._running.services.cluster.fence(3)
    await reassign(client, 0, [3])
    assert await moving(client) == [(0, [3, 1, 2], [3], [1, 2])]
    assert await reassign(client, 0, None) == (0, None)
    assert await moving(client) == []
    assert sorted(state_of(three).replicas) == [1, 2]
    assert state_of(three).leader_id == 1


async def test_a_move_goes_on_after_a_restart(tmp_path: Path, connect: Any) -> None:
    async with test_broker(nodes=3, data_dir=tmp_path) as b:
        make(b, [1, 2])
        b._running.services.cluster.fence(3)
        await reassign(await connect(b), 0, [3, 2])
    async with test_broker(nodes=3, data_dir=tmp_path) as b:
        assert (state_of(b).replicas, state_of(b).leader_id) == ([3, 2], 3)


async def test_what_is_refused(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    start = "The manual partition assignment includes "
    assert await reassign(client, 0, [9]) == (
        39,
        f"{start}broker 9, but no such broker is registered.",
    )
    assert await reassign(client, 0, []) == (39, f"{start}an empty replica list.")
    assert await reassign(client, 0, [1, 1]) == (39, f"{start}the broker 1 more than once.")
    assert (await reassign(client, 7, [1]))[0] == 3
    assert (await reassign(client, 0, [1], allow_replication_factor_change=False))[0] == 38
    assert await reassign(client, 0, [1, 3], allow_replication_factor_change=False) == (0, None)
