"""A Fetch of very many partitions gives back its memory little by little."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from kafkalite.apis import fetch as fetch_api
from kafkalite.replica.fetch_sessions import FetchContext
from kafkalite.replica.fetch_target import FetchTarget
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.fetch import FetchRequest
from kafkalite.wire.rows import default_row
from tests.freed_in_steps import FreedInSlices, without_collections

COUNT = 8000


class Asker:
    """A connection whose waits are over at once."""

    async def move_to_task(self) -> None: ...

    async def yield_turn(self) -> None: ...


async def test_what_very_many_topics_leave_is_freed_little_by_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed = FreedInSlices()
    monkeypatch.setattr(fetch_api, "in_slices", freed)
    context: Any = SimpleNamespace(
        connection=Asker(), node_id=1, may_read=None, api_version=18, wait_for=None
    )
    request = default_row(FetchRequest)
    async with test_broker() as broker:
        with without_collections():
            targets = [
                FetchTarget("", uuid4(), 0, (0, -1, 0, -1, -1, 1, UUID(int=0), 0))
                for _ in range(COUNT)
            ]
            fetching = fetch_api._fetch_in_slices(
                broker._running.services, context, request, FetchContext(targets)
            )
            del targets
            with pytest.raises(StopIteration) as done:
                fetching.send(None)
            del fetching
            freed.over()
    assert len(done.value.value.row[3]) == COUNT
    assert max(freed.counts) < 2500
