"""A decision counts once the replicas have it, if its leader still leads in the same epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.coordinators.standing import Standing
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.replica.replicated import ME, OTHER, records, replicated


@pytest.mark.parametrize("is_copied", [False, True])
@pytest.mark.parametrize(
    ("leaders", "verdict"),
    [
        ((), ErrorCode.NONE),
        ((OTHER,), ErrorCode.NOT_COORDINATOR),
        ((OTHER, ME), ErrorCode.NOT_COORDINATOR),
    ],
)
async def test_the_verdict(
    tmp_path: Path, is_copied: bool, leaders: tuple[int, ...], verdict: ErrorCode
) -> None:
    with replicated(tmp_path) as world:
        partition = world.create(ME, ME, OTHER)
        standing = Standing(partition)
        assert standing.verdict is ErrorCode.NONE, "nothing was decided yet"
        partition.append(records(b"decision"))
        standing.decided()
        assert standing.verdict is None
        if is_copied:
            replica = partition.replica
            assert replica is not None
            assert replica.leading is not None
            replica.leading.fetched(OTHER, 1, 0, 10 + OTHER)
            partition.changed()
        for leader in leaders:
            world.change(leader=leader)
        assert standing.verdict is (verdict if is_copied or leaders else None)
