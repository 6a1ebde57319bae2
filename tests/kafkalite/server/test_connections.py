"""The connections of a broker: how many, from where, and how long they may be silent."""

from __future__ import annotations

import socket
import struct
from time import sleep

import pytest
import trio

from kafkalite.server.connection import Connection
from kafkalite.testing import broker as test_broker
from tests.kafkalite.frames import GOOD


async def test_a_half_sent_frame_holds_nobody_up(clients) -> None:
    half = await clients.connect()
    await half.stream.send_all(struct.pack(">i", 1000) + b"half")
    other = await clients.connect()
    for _ in range(3):
        assert await other.ask(GOOD)


async def test_many_connections_that_say_nothing(
    broker: test_broker, clients, autojump_clock: trio.testing.MockClock
) -> None:
    """Thousands are tried in conformance/; here, that each is closed when it was idle too long."""
    host, _, port = broker.bootstrap.rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(200)]
    try:
        busy = await clients.connect()
        for _ in range(12):  # 720 seconds; connections.max.idle.ms is 600
            await busy.ask(GOOD)
            await trio.sleep(60)
        for sock in silent:
            sock.settimeout(0)
            assert sock.recv(1) == b""
        assert await busy.ask(GOOD)
    finally:
        for sock in silent:
            sock.close()


class Counted(trio.abc.Instrument):
    """Counts something in each step of a task."""

    def __init__(self) -> None:
        self.in_step = [0]

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.in_step.append(0)


async def test_a_crowd_of_idle_connections_is_closed_little_by_little(
    broker: test_broker, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once they would hold the loop: logins that never end may be thousands."""
    counted = Counted()
    abort = Connection.abort

    def counting(connection: Connection, reason: str) -> None:
        counted.in_step[-1] += reason == "idle"
        sleep(0.0002)
        abort(connection, reason)

    monkeypatch.setattr(Connection, "abort", counting)
    host, _, port = broker.bootstrap.rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(200)]
    try:
        trio.lowlevel.add_instrument(counted)
        await trio.sleep(720)
        trio.lowlevel.remove_instrument(counted)
        assert sum(counted.in_step) == len(silent)
        assert max(counted.in_step) <= 64
    finally:
        for sock in silent:
            sock.close()


async def test_no_more_connections_than_allowed(connect) -> None:
    async with test_broker({"max.connections": 2}) as running:
        first, second = await connect(running), await connect(running)
        await first.ask(GOOD)
        await second.ask(GOOD)
        third = await connect(running)
        await third.send(GOOD)
        with trio.move_on_after(0.05) as scope:
            await third.answer()
        assert scope.cancelled_caught
        third._asked.append((18, 4))
        await first.stream.aclose()
        assert await third.answer()


async def test_a_change_closes_what_is_too_many_little_by_little(
    broker: test_broker, connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once they would hold the loop."""
    counted = Counted()
    abort = Connection.abort

    def counting(connection: Connection, reason: str) -> None:
        counted.in_step[-1] += reason == "max.connections"
        abort(connection, reason)

    monkeypatch.setattr(Connection, "abort", counting)
    host, _, port = broker.bootstrap.rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(200)]
    try:
        client = await connect(broker)
        await client.ask(GOOD)
        trio.lowlevel.add_instrument(counted)
        broker._running.config.set_dynamic(1, {"max.connections": "1"})
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.remove_instrument(counted)
        assert sum(counted.in_step) == len(silent)
        assert max(counted.in_step) <= 64
        assert await client.ask(GOOD)  # it was the last to speak
    finally:
        for sock in silent:
            sock.close()


async def test_brokers_are_let_in_where_the_node_is_full(connect) -> None:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,ONE://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ONE:PLAINTEXT",
        "max.connections": 1,
        "listener.name.plaintext.max.connections": 2,
    }
    async with test_broker(listeners) as running:
        (one,) = (each for each in running._running.listeners if each.name == "ONE")
        async with await trio.open_tcp_stream("127.0.0.1", one.port) as client:
            await trio.testing.wait_all_tasks_blocked(0.05)  # it is let in
            assert await (await connect(running)).ask(GOOD)
            with trio.fail_after(5):
                assert await client.receive_some(1) == b""
            assert await (await connect(running)).ask(GOOD)


async def test_no_more_connections_from_one_address_than_allowed(connect) -> None:
    limits = {"max.connections.per.ip": 0, "max.connections.per.ip.overrides": "127.0.0.1:1"}
    async with test_broker(limits) as running:
        first = await connect(running)
        await first.ask(GOOD)
        second = await connect(running)
        assert await second.is_closed()
        assert await first.ask(GOOD)


async def test_no_faster_than_allowed(connect, autojump_clock: trio.testing.MockClock) -> None:
    """One a second are ten in the ten seconds of Kafka's windows. The next waits for a second."""
    async with test_broker({"max.connection.creation.rate": 1}) as running:
        for _ in range(10):
            await (await connect(running)).ask(GOOD)
        begun = trio.current_time()
        assert begun < 1
        assert await (await connect(running)).ask(GOOD)
        assert trio.current_time() - begun >= 1
