"""The control port as a socket: its address, its token, and the hosts it may be opened on."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from kafkalite.client.connecting import Client
from kafkalite.config import BrokerConfig
from kafkalite.control.port import ControlPort
from kafkalite.control.process import ControlledProcess
from kafkalite.server.listener import StartError
from kafkalite.testing import broker

BEYOND = {"kafkalite.control.host": "0.0.0.0", "kafkalite.control.port": "0"}


def test_beyond_loopback_only_with_a_token_set_on_purpose() -> None:
    with pytest.raises(StartError, match=r"without kafkalite\.control\.token"):
        ControlPort(BrokerConfig(BEYOND))
    with broker({**BEYOND, "kafkalite.control.token": "a b/c"}, ui=True) as running:
        assert running.ui_url is not None
        url, token = running.ui_url.split("/#token=")
        assert url.startswith("http://127.0.0.1:")
        assert token == "a%20b%2Fc"
        assert Client(url, "a b/c").describe().topics == 0


def test_each_port_has_a_token_of_its_own() -> None:
    ports = [ControlPort(BrokerConfig({"kafkalite.control.port": "0"})) for _ in range(2)]
    tokens = [each.address["token"] for each in ports]
    assert tokens[0] != tokens[1]
    assert min(map(len, tokens)) > 40
    for each in ports:
        assert each.page_url is None
        each.close()


def test_a_port_that_is_taken() -> None:
    first = ControlPort(BrokerConfig({"kafkalite.ui": "true"}))
    port = first.address["url"].rpartition(":")[2]
    told = rf"^the control port \(kafkalite.control.port\): .*:{port}: .* in use"
    with pytest.raises(StartError, match=told):
        ControlPort(BrokerConfig({"kafkalite.control.port": port}))
    first.close()


async def test_a_port_that_was_given_listens_when_the_cluster_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(tmp_path),
            "kafkalite.control.port": str(address[1]),
        }
    )
    with ControlledProcess(config, temporary=False) as process:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        async with trio.open_nursery() as nursery:
            await nursery.start(process.serve)
            socket.create_connection(address).close()
            process.stop()
    told = rf"^the control port .*:{address[1]}: .* in use"
    with (
        ControlledProcess(config, temporary=False) as process,
        socket.create_server(address),
        pytest.raises(StartError, match=told),
    ):
        await process.serve()


def test_verbs_and_http_are_imported_for_the_first_client() -> None:
    """A process of its own is asked, as this one has imported them for other tests."""
    program = """
import sys
from kafkalite.client.connecting import Client
from kafkalite.testing import broker

with broker(ui=True) as running:
    before = {"kafkalite.control.http", "kafkalite.control.verbs"} & set(sys.modules)
    url, token = running.ui_url.split("/#token=")
    Client(url, token).describe()
    after = {"kafkalite.control.http", "kafkalite.control.verbs"} & set(sys.modules)
print(len(before), len(after))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.stdout.split() == [b"0", b"2"], done.stderr.decode()
