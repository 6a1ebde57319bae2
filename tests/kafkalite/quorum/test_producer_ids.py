"""Producer ids come in blocks, each asked for before the last one ends."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kafkalite.quorum.channel import NoController
from kafkalite.quorum.producer_ids import ProducerIds
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.allocate_producer_ids import AllocateProducerIdsResponse


class Controllers:
    """Gives blocks of ten, unless it is told to fail first."""

    def __init__(self, *failures: ErrorCode | None) -> None:
        self.failures = list(failures)
        self.given = 0

    async def ask(self, body: object, *, timeout_seconds: float) -> AllocateProducerIdsResponse:
        await trio.sleep(0.01)
        if self.failures:
            code = self.failures.pop(0)
            if code is None:
                raise NoController("none")
            return AllocateProducerIdsResponse(error_code=code)
        self.given += 10
        return AllocateProducerIdsResponse(producer_id_start=self.given - 10, producer_id_len=10)


async def test_they_are_all_different_and_none_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    controllers = Controllers()
    ids = ProducerIds(1, lambda: 5, controllers)
    with pytest.raises(KafkaError) as none_yet:
        ids.take()
    assert none_yet.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ids.run)
        await trio.sleep(0.1)
        found: list[int] = []
        for _ in range(45):
            found.append(ids.take())
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    assert found == list(range(45))


async def test_one_block_ahead_is_enough(autojump_clock: trio.testing.MockClock) -> None:
    controllers = Controllers()
    ids = ProducerIds(1, lambda: 5, controllers)
    ids.prefetch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ids.run)
        await trio.sleep(1)
        assert controllers.given == 10
        for _ in range(8):
            ids.take()
        await trio.sleep(1)
        assert controllers.given == 10
        ids.take()
        await trio.sleep(1)
        assert controllers.given == 20
        nursery.cancel_scope.cancel()


async def test_it_asks_until_it_gets_some(autojump_clock: trio.testing.MockClock) -> None:
    controllers = Controllers(ErrorCode.STALE_BROKER_EPOCH, None, ErrorCode.UNKNOWN_SERVER_ERROR)
    ids = ProducerIds(1, lambda: 5, controllers)
    ids.prefetch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ids.run)
        await trio.sleep(1)
        assert ids.take() == 0
        nursery.cancel_scope.cancel()
