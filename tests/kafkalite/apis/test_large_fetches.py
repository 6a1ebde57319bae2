"""A Fetch of very many partitions gives back its memory little by little."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio

from kafkalite.apis import fetch as fetch_api
from kafkalite.replica.fetch_reader import FetchReader
from kafkalite.replica.fetch_sessions import FetchContext
from kafkalite.replica.fetch_target import FetchTarget
from kafkalite.requests import slices
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
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


PARTITIONS, CLIENTS = 1100, 6


@pytest.mark.pure
async def test_of_many_large_ones_one_is_read_in_a_round(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that others wait for one slice, however many clients ask for very many partitions."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slices, "_BRIEF_SECONDS", 0)
    read_some, reads = FetchReader.read_some, [0]

    def counted(reader: FetchReader, targets: Any) -> Any:
        reads[-1] += 1
        return read_some(reader, targets)

    class Rounds(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            reads.append(0)

    monkeypatch.setattr(FetchReader, "read_some", counted)
    async with test_broker() as broker:
        partitions = [FetchPartition(partition=index) for index in range(PARTITIONS)]
        topic = FetchTopic(topic="none", partitions=partitions)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic])
        clients = [await connect(broker) for _ in range(CLIENTS)]
        trio.lowlevel.add_instrument(rounds := Rounds())
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(client.ask, request, 12)
        trio.lowlevel.remove_instrument(rounds)
    assert sum(reads) >= CLIENTS * PARTITIONS / 8
    assert max(reads) <= 2
