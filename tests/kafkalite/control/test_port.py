"""The control port as a socket: its address, its token, and the hosts it may be opened on."""

from __future__ import annotations

import pytest

from kafkalite.client.connecting import Client
from kafkalite.config import BrokerConfig
from kafkalite.control.port import ControlPort
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
