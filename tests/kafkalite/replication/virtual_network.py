"""Nodes in one process, and links between them that delay, drop and part; all of it in trio's
time."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from random import Random

import trio

from kafkalite.peers.link import Address, Connect, Connection

Serve = Callable[[bytes], Awaitable[bytes]]


class Network:
    """The servers by port, and who does not hear whom. `steps` counts the requests that are
    sent."""

    def __init__(self, random: Random, nursery: trio.Nursery) -> None:
        self.random = random
        self.nursery = nursery
        self.servers: dict[int, tuple[int, Serve]] = {}
        # The sender, and who hears nothing of it. The other way may be whole.
        self.parted: set[tuple[int, int]] = set()
        self.loss = 0.0
        self.steps = 0
        self._incarnation = 0

    def serve(self, port: int, serve: Serve) -> None:
        self._incarnation += 1
        self.servers[port] = self._incarnation, serve

    def stop(self, port: int) -> None:
        self.servers.pop(port, None)

    def connect_from(self, node_id: int) -> Connect:
        async def connect(address: Address) -> Connection:
            await trio.sleep(self.delay())
            ways = {(node_id, address.port), (address.port, node_id)}
            if address.port not in self.servers or ways & self.parted:
                raise OSError("nobody there")
            return Connection(VirtualStream(self, node_id, address.port))

        return connect

    def delay(self) -> float:
        return self.random.choice((0.0, 0.001, 0.002, 0.02))


class VirtualStream(trio.abc.Stream):
    """The client's end of a connection to what served at a port when it was opened."""

    def __init__(self, network: Network, node_id: int, port: int) -> None:
        self.network, self.node_id, self.port = network, node_id, port
        self.incarnation, self.serve = network.servers[port]
        self.received: deque[bytes] = deque()
        self.changed = trio.Event()
        self.is_broken = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_broken:
            raise trio.BrokenResourceError
        self.network.steps += 1
        self.network.nursery.start_soon(self._answer, bytes(data))

    async def _answer(self, frame: bytes) -> None:
        if not await self._pass(self.node_id, self.port):
            return
        answer = await self.serve(frame[4:])
        if await self._pass(self.port, self.node_id):
            self.received.append(answer)
            self.changed.set()

    async def _pass(self, sender: int, receiver: int) -> bool:
        """True if what is on its way arrives: it may be lost, or the other end gone."""
        network = self.network
        await trio.sleep(network.delay())
        if network.servers.get(self.port, (0,))[0] != self.incarnation:
            self.is_broken = True
            self.changed.set()
            return False
        is_lost = network.random.random() < network.loss
        return not is_lost and (sender, receiver) not in network.parted

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        while not self.received:
            if self.is_broken:
                raise trio.BrokenResourceError
            self.changed = trio.Event()
            await self.changed.wait()
        return self.received.popleft()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self.is_broken = True
        self.changed.set()
        await trio.lowlevel.checkpoint()
