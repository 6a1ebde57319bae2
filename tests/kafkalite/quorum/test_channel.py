"""Requests find the active controller, wherever it is by now."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio
import trio.testing

from kafkalite.peers.link import PeerGone
from kafkalite.quorum.channel import NoController
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.broker_heartbeat import BrokerHeartbeatResponse
from tests.kafkalite.quorum.answering import A, B, Quorum, channel

IDS = [UUID(int=100 + number) for number in range(10)]


OK = BrokerHeartbeatResponse(is_caught_up=True)
ELSEWHERE = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)


async def test_it_asks_until_the_right_one_answers(autojump_clock: trio.testing.MockClock) -> None:
    quorum = Quorum(A)
    asking, link = channel(quorum, PeerGone("a: gone"), ELSEWHERE, OK)
    assert await asking.ask("body", timeout_seconds=60) is OK
    assert len(link.asked) == 3


async def test_it_waits_for_a_leader(autojump_clock: trio.testing.MockClock) -> None:
    quorum = Quorum(None)
    asking, link = channel(quorum, OK)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: asking.ask("body", timeout_seconds=60))
        await trio.sleep(5)
        assert link.asked == []
        quorum.leader_address = B
    assert [address for address, _ in link.asked] == [B]


async def test_it_gives_up_in_time(autojump_clock: trio.testing.MockClock) -> None:
    asking, _ = channel(Quorum(A), PeerGone("a: gone"))
    began = trio.current_time()
    with pytest.raises(NoController, match="a: gone"):
        await asking.ask("body", timeout_seconds=3)
    assert trio.current_time() - began == pytest.approx(3)
