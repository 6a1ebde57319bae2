"""Listeners: ports in a row, ports that are taken, listeners that close and come back."""

from __future__ import annotations

import select
import socket

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.server.listener import (
    StartError,
    bind,
    closed_if_cut_short,
    joined,
    open_listeners,
)

PROTOCOLS = {
    "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
    "inter.broker.listener.name": "A",
}


def test_a_system_without_epoll_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "epoll")
    with pytest.raises(StartError, match="needs Linux: this system has no epoll"):
        open_listeners(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0"}))


def config_of(*addresses: str, **properties: str) -> BrokerConfig:
    return BrokerConfig({"listeners": ",".join(addresses)} | properties)


def test_nodes_get_ports_in_a_row() -> None:
    """Started again with the first port, a broker has the same ones."""
    config = config_of("PLAINTEXT://127.0.0.1:0", **{"kafkalite.nodes": "3"})
    listeners = open_listeners(config)
    try:
        first = listeners[0].port
        assert [each.node_id for each in listeners] == [1, 2, 3]
        assert [each.port for each in listeners] == [first, first + 1, first + 2]
    finally:
        for each in listeners:
            each.close()


def test_a_port_that_is_taken_is_named_and_the_others_are_let_go() -> None:
    taken, free = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    port, other = taken.getsockname()[1], free.getsockname()[1]
    free.close()
    with pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}: .*in use"):
        open_listeners(config_of(f"A://127.0.0.1:{other}", f"B://127.0.0.1:{port}", **PROTOCOLS))
    taken.close()
    bind("127.0.0.1", other).close()


def test_a_listener_comes_back_at_its_port() -> None:
    (listener,) = open_listeners(config_of("PLAINTEXT://127.0.0.1:0"))
    port, told = listener.port, listener.advertised_address
    handed_on = listener.handed_on()
    listener.close()
    listener.close()
    assert not listener.is_open
    assert (handed_on.is_open, handed_on.port) == (True, port)
    with pytest.raises(StartError):
        listener.open_again(port)
    handed_on.close()
    again = listener.open_again(port)
    assert (again.is_open, again.port, again.advertised_address) == (True, port, told)
    again.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_listener_at_rest_refuses_and_keeps_its_port(host: str) -> None:
    (listener,) = open_listeners(config_of(f"PLAINTEXT://{host}:0"))
    address, told = listener.socket.getsockname(), listener.advertised_address
    resting = listener.at_rest()
    assert (listener.is_open, resting.is_open, resting.port) == (False, False, address[1])
    with socket.socket(resting.socket.family) as client:
        with pytest.raises(ConnectionRefusedError):
            client.connect(address)
        with pytest.raises(OSError, match="in use"):
            client.bind(address)
    again = resting.open_again(address[1])
    resting.close()
    assert (again.is_open, again.port, again.advertised_address) == (True, address[1], told)
    socket.create_connection(address[:2]).close()
    again.close()
    assert not again.is_open


def test_a_listener_at_rest_that_somebody_else_follows() -> None:
    (listener,) = open_listeners(config_of("PLAINTEXT://127.0.0.1:0"))
    resting = listener.at_rest()
    other = bind("127.0.0.1", resting.port)
    with pytest.raises(StartError, match="in use"):
        resting.open_again(resting.port)
    other.close()
    resting.close()
    assert not resting.is_open


def test_listeners_that_nobody_takes_over_are_closed() -> None:
    listeners = open_listeners(config_of("PLAINTEXT://127.0.0.1:0"))
    with closed_if_cut_short(listeners):
        pass
    assert all(each.is_open for each in listeners)
    with pytest.raises(StartError), closed_if_cut_short(listeners):
        raise StartError("the data cannot be opened")
    assert not any(each.is_open for each in listeners)


def test_addresses_as_they_are_written() -> None:
    assert joined("localhost", 9092) == "localhost:9092"
    assert joined("::1", 9092) == "[::1]:9092"
