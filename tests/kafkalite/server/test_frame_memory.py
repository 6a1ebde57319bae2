"""queued.max.request.bytes: large requests are received as there is memory for them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import trio

from kafkalite.config import BrokerConfig
from kafkalite.config.definition import ConfigError
from kafkalite.server.channel import ChannelState
from kafkalite.server.frame_memory import FrameMemory
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.until import until

LARGE = 100_000
CONFIGS = {
    **FEW_PARTITIONS,
    "queued.max.request.bytes": str(LARGE + 1),
    "socket.request.max.bytes": str(LARGE),
}


def test_frames_wait_in_order_and_go_beyond_the_limit_by_one() -> None:
    granted: list[str] = []
    memory = FrameMemory(10)
    first, second = (memory.claim(9, lambda: granted.append("at once")) for _ in range(2))
    third = memory.claim(5, lambda: granted.append("third"))
    given_up = memory.claim(1, lambda: granted.append("given up"))
    last = memory.claim(1, lambda: granted.append("last"))
    assert (first.is_granted, second.is_granted, third.is_granted) == (True, True, False)
    memory.give_back(given_up)
    memory.give_back(first)
    assert granted == ["third"]
    memory.give_back(second)
    assert granted == ["third", "last"]
    memory.give_back(third)
    memory.give_back(last)
    assert [memory.claim(10, print).is_granted for _ in range(2)] == [True, False]


def frame(api_key: int = ApiKey.API_VERSIONS) -> bytes:
    """A request without fields, and so many bytes after it, which Kafka passes over."""
    head = struct.pack(">hhih", api_key, 0, 7, -1)
    return struct.pack(">i", LARGE) + head + bytes(LARGE - len(head))


async def states(running: test_broker) -> list[ChannelState]:
    await trio.sleep(0.02)
    return sorted(each.state for each in running._running._connections)


def abort(running: test_broker, client: Any) -> None:
    port = client.stream.socket.getsockname()[1]
    (found,) = [each for each in running._running._connections if each.client_port == port]
    found.abort()


@pytest.mark.parametrize("end", [ApiKey.API_VERSIONS, ApiKey.LIST_GROUPS, "closed", "cut"])
async def test_a_large_request_is_not_read_while_others_fill_the_memory(
    connect: Any, end: ApiKey | str
) -> None:
    """The others' are answered at once, or by a task, or their connections end."""
    async with test_broker(CONFIGS) as running:
        half, other, waiting, gone, small = [await connect(running) for _ in range(5)]
        large = frame() if isinstance(end, str) else frame(end)
        for client in (half, other):
            await client.stream.send_all(large[:-1000])
        assert await states(running) == [ChannelState.READING] * 5
        for client in (waiting, gone):
            await client.stream.send_all(frame()[:-1])
        assert await states(running) == [ChannelState.READING] * 3 + [ChannelState.MUTED] * 2
        await gone.stream.aclose()
        await small.ask(ApiVersionsRequest(), 0)
        await waiting.stream.send_all(frame()[-1:])
        for client in (half, other):
            if end == "cut":
                abort(running, client)
            elif end == "closed":
                await client.stream.aclose()
            else:
                await client.stream.send_all(large[-1000:])
                await client.frame()
        with trio.fail_after(5):
            assert len(await waiting.frame()) > 100
        # All memory is there again, whoever had it.
        await waiting.stream.send_all(frame() * 3)
        with trio.fail_after(5):
            for _ in range(3):
                await waiting.frame()


async def test_a_broker_ends_while_a_request_waits(connect: Any) -> None:
    async with test_broker(CONFIGS) as running:
        clients = [await connect(running) for _ in range(3)]
        for client in clients:
            await client.stream.send_all(frame()[:-1])
        await until(lambda: ChannelState.MUTED in {e.state for e in running._running._connections})


def test_it_is_not_less_than_a_request_may_have() -> None:
    with pytest.raises(
        ConfigError, match=r"must be larger or equal to socket\.request\.max\.bytes"
    ):
        BrokerConfig({"queued.max.request.bytes": "1000"})
