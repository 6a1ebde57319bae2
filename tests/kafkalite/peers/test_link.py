"""A link is made when it is needed, and whatever keeps an answer away closes it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
import trio
import trio.testing

from kafkalite.peers.link import Address, Connection, Link, PeerGone
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse

HERE, THERE = Address("here", 1), Address("there", 2)


class Peer:
    """Echoes envelopes, after `delay` seconds; hangs up after `most` of them."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.connected: list[Address] = []
        self.closed = 0
        self.delay = 0.0
        self.usable_seconds = inf
        self.most = 1000
        self.hung_up = trio.Event()

    async def connect(self, address: Address) -> Connection:
        if address.host == "nowhere":
            raise OSError("no such host")
        self.connected.append(address)
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._serve, theirs)
        return Connection(ours, trio.current_time() + self.usable_seconds)

    async def _serve(self, stream: trio.abc.Stream) -> None:
        for _ in range(self.most + 1):
            try:
                frame = await stream.receive_some()
            except trio.BrokenResourceError:
                break
            if not frame:
                break
            request = decode_request(bytes(frame[4:]))
            body: object = EnvelopeResponse(response_data=b"")
            if isinstance(request.body, EnvelopeRequest):
                await trio.sleep(self.delay)
                body = EnvelopeResponse(response_data=request.body.request_data)
            else:
                body = ApiVersionsResponse(
                    api_keys=[ApiVersion(api_key=58, min_version=0, max_version=0)]
                )
            answer = encode_response(
                request.api_key, request.api_version, request.correlation_id, body
            )
            try:
                await stream.send_all(join(answer))
            except trio.BrokenResourceError:
                break
        self.closed += 1
        await stream.aclose()
        self.hung_up.set()


async def echoed(link: Link, text: bytes, address: Address = HERE, seconds: float = 5) -> bytes:
    answer = await link.ask(address, EnvelopeRequest(request_data=text), timeout_seconds=seconds)
    data: bytes = answer.response_data
    return data


async def test_one_connection_serves_many(autojump_clock: Callable[[], None]) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        for number in range(3):
            assert await echoed(link, b"%d" % number) == b"%d" % number
        assert peer.connected == [HERE]
        await link.close()
        await trio.testing.wait_all_tasks_blocked()
        assert peer.closed == 1


async def test_another_address_is_another_connection(autojump_clock: Callable[[], None]) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        await echoed(link, b"a", HERE)
        await echoed(link, b"b", THERE)
        await trio.testing.wait_all_tasks_blocked()
        assert (peer.connected, peer.closed) == ([HERE, THERE], 1)
        await link.close()


async def test_a_late_answer_is_never_taken_for_another(autojump_clock: Callable[[], None]) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        peer.delay = 10
        with pytest.raises(PeerGone, match="no answer in 5 s"):
            await echoed(link, b"late")
        peer.delay = 0
        assert await echoed(link, b"next") == b"next"
        assert len(peer.connected) == 2
        await link.close()


async def test_who_gives_up_waiting_leaves_no_answer_behind(
    autojump_clock: Callable[[], None],
) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        peer.delay = 10
        with trio.move_on_after(1):
            await echoed(link, b"late")
        peer.delay = 0
        assert await echoed(link, b"next") == b"next"
        await link.close()


async def test_requests_of_several_tasks_wait_for_each_other(
    autojump_clock: Callable[[], None],
) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        peer.delay = 1
        found: list[bytes] = []

        async def ask(text: bytes) -> None:
            found.append(await echoed(link, text))

        async with trio.open_nursery() as asking:
            for number in range(4):
                asking.start_soon(ask, b"%d" % number)
        assert sorted(found) == [b"0", b"1", b"2", b"3"]
        await link.close()


async def test_a_peer_that_is_gone(autojump_clock: Callable[[], None]) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        with pytest.raises(PeerGone, match="no such host"):
            await echoed(link, b"x", Address("nowhere", 1))
        peer.most = 1
        await echoed(link, b"first")
        with pytest.raises(PeerGone):
            await echoed(link, b"second")
        assert await echoed(link, b"again") == b"again"
        await link.close()


async def test_a_connection_that_was_hung_up_meanwhile_is_made_again(
    nursery: trio.Nursery,
) -> None:
    """As by a broker that was started again since it was last asked."""
    peer = Peer(nursery)
    peer.most = 1
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, peer._serve, [listener])

    async def connect(address: Address) -> Connection:
        peer.connected.append(address)
        return Connection(await trio.testing.open_stream_to_socket_listener(listener))

    link = Link("test", connect)
    assert await echoed(link, b"a") == b"a"
    with trio.fail_after(5):
        await peer.hung_up.wait()
    assert await echoed(link, b"b") == b"b"
    assert len(peer.connected) == 2
    await link.close()


async def test_a_login_that_ends_soon_makes_way_for_a_new_one(
    autojump_clock: Callable[[], None],
) -> None:
    async with trio.open_nursery() as nursery:
        peer = Peer(nursery)
        link = Link("me", peer.connect)
        peer.usable_seconds = 10
        await echoed(link, b"first")
        await trio.sleep(9)
        await echoed(link, b"second")
        assert len(peer.connected) == 1
        await trio.sleep(1)
        assert await echoed(link, b"third") == b"third"
        await trio.testing.wait_all_tasks_blocked()
        assert (len(peer.connected), peer.closed) == (2, 1)
        await link.close()
