"""Clients of a control port elsewhere: they find it, ask it, and wait or are awaited."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

from kafkalite.client.connecting import (
    AsyncClient,
    Client,
    from_environment,
    read_ready_file,
)
from kafkalite.client.errors import WaitTimeout
from kafkalite.control.problems import Problem
from kafkalite.faults import drop
from tests.kafkalite.control.clients import produced


@pytest.fixture
def k(ready: Path) -> Iterator[Client]:
    client = Client.of_ready_file(ready)
    yield client
    client.reset()


@pytest.mark.slow
def test_verbs_from_elsewhere(k: Client, ready: Path) -> None:
    bootstrap = json.loads(ready.read_text())["bootstrap"]
    assert k.describe().bootstrap == bootstrap
    k.create_topic("t", partitions=2)
    k.produce("t", b"\x00\xff", key="k", partition=1)
    (record,) = k.records("t", 1, partition=1)
    assert (record.key, record.value, record.value_encoding) == ("k", "AP8=", "base64")
    fault = k.fault("Produce", topic="t", do=drop.after)
    assert produced(SimpleNamespace(bootstrap=bootstrap)) == [None]
    assert fault.applied == 1
    assert fault.show().hits[0].did == ["drop after"]
    assert k.clock.advance("1h").now_ms > 0
    with pytest.raises(WaitTimeout, match="t has 3 of 10 records"):
        k.wait.records("t", 10, timeout="100ms")
    with pytest.raises(Problem, match="no topic 'none'"):
        k.topic("none")
    k.snapshot("one")
    assert [each.snapshot for each in k.snapshots()] == ["one"]
    assert k.reset().topics == 1
    k.restore("one")
    assert len(k.records("t")) == 3


async def _use(client: AsyncClient) -> None:
    await client.create_topic("t")
    await client.produce("t", "v")
    (record,) = await client.records("t", 1)
    assert record.value == "v"
    with pytest.raises(WaitTimeout):
        await client.wait.records("t", 2, timeout="10ms")
    await client.reset()


def test_the_awaited_client_in_both_loops(ready: Path) -> None:
    client = AsyncClient(*read_ready_file(ready))
    trio.run(_use, client)
    asyncio.run(_use(client))


def test_another_cluster_of_the_same_process(k: Client) -> None:
    made = k.ask("clusters.create", name="mine", nodes=2)
    mine = k.on("mine")
    assert (mine.describe().bootstrap, mine.describe().name) == (made.bootstrap, "mine")
    mine.create_topic("t")
    assert (len(mine.topics()), k.topics()) == (1, [])
    mine.ask("clusters.delete")
    with pytest.raises(Problem, match="no cluster 'mine'"):
        mine.topics()


def ready_file(path: Path, **told: object) -> Path:
    path.write_text(json.dumps(told))
    return path


def test_the_environment_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAFKALITE_URL", "KAFKALITE_TOKEN", "KAFKALITE_READY_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(KeyError):
        from_environment()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    running = {"pid": os.getpid(), "control": {"url": "http://c:3", "token": "u"}}
    (tmp_path / "kafkalite").mkdir()
    ready_file(tmp_path / "kafkalite" / "1.json", **running)
    assert from_environment() == ("http://c:3", "u")
    file = ready_file(tmp_path / "ready.json", control={"url": "http://a:1", "token": "s"})
    monkeypatch.setenv("KAFKALITE_READY_FILE", str(file))
    assert from_environment() == ("http://a:1", "s")
    monkeypatch.setenv("KAFKALITE_URL", "http://b:2")
    monkeypatch.setenv("KAFKALITE_TOKEN", "t")
    assert from_environment() == ("http://b:2", "t")


def test_a_broker_without_a_control_port_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="control"):
        read_ready_file(ready_file(tmp_path / "ready.json", bootstrap="127.0.0.1:9092"))


async def _follow(client: AsyncClient) -> None:
    kinds: list[str] = []
    await client.create_topic("t")
    async for seen in client.stream(what="events", after="0-0", kind="topic.*", limit=1):
        assert seen.event is not None
        kinds.append(seen.event.kind)
    assert kinds == ["topic.created"]
    with pytest.raises(Problem, match="no API 'Produse'"):
        _ = [seen async for seen in client.stream(api="Produse")]
    await client.reset()


def test_what_happens_is_followed(ready: Path, k: Client) -> None:
    k.create_topic("a")
    seen = k.stream(what="events", after="0-0", kind="topic.created", limit=2)
    first = next(seen)
    k.create_topic("b")
    assert [each.event.kind for each in (first, *seen) if each.event] == ["topic.created"] * 2
    client = AsyncClient(*read_ready_file(ready))
    trio.run(_follow, client)
    asyncio.run(_follow(client))


def test_a_stream_that_breaks_off_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n: ")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="the control port has gone"):
            list(Client(url, "token").stream())
        thread.join()


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "the control port has gone"),
        (b"\0\0\0\4", "the control port has gone"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "is no control port"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n[]", "is no control port"),
    ],
)
def test_what_answers_is_no_control_port(answer: bytes, said: str, is_awaited: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

        def respond() -> None:
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(answer)

        def ask() -> None:
            if is_awaited:
                asyncio.run(AsyncClient(url, "").ask("version"))
            else:
                Client(url, "").ask("version")

        responding = threading.Thread(target=respond)
        responding.start()
        with pytest.raises(ConnectionError, match=said):
            ask()
        responding.join()
