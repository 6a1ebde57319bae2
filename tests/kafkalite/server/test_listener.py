"""Listeners: ports in a row, ports that are taken, listeners that close and come back."""

from __future__ import annotations

import errno
import select
import socket
from typing import Any

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.server.listener import (
    StartError,
    begin,
    bind,
    closed_if_cut_short,
    joined,
    local_address,
    open_listeners,
    start_error_of,
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


def test_a_port_that_is_known_listens_when_it_is_told_to() -> None:
    """Clients may take an open port for a broker that answers."""
    port = free_port()
    (listener,) = open_listeners(config_of(f"PLAINTEXT://127.0.0.1:{port}"))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert (listener.is_open, listener.port) == (False, port)
    listener.begin()
    socket.create_connection(("127.0.0.1", port)).close()
    resting = listener.at_rest()
    resting.begin()
    assert not resting.is_open
    resting.close()
    resting.begin()


def test_a_socket_that_listens_may_begin_again() -> None:
    sock = bind("127.0.0.1", 0, listens=False)
    for _ in range(2):
        begin(sock, "metrics")
        socket.create_connection(sock.getsockname()).close()
    sock.close()


def test_of_two_that_wait_for_a_port_the_second_is_told() -> None:
    config = config_of(f"PLAINTEXT://127.0.0.1:{free_port()}")
    (first,), (second,) = open_listeners(config), open_listeners(config)
    first.begin()
    with pytest.raises(StartError, match="in use"):
        second.begin()
    first.close()
    second.close()


def test_the_start_error_among_all_that_a_nursery_ended_with() -> None:
    error, other = StartError("in use"), ValueError()
    group = BaseExceptionGroup("", [other, ExceptionGroup("", [error])])
    assert start_error_of(group) is error
    group = BaseExceptionGroup("", [other])
    assert start_error_of(group) is group


def free_port() -> int:
    with bind("127.0.0.1", 0) as sock:
        port: int = sock.getsockname()[1]
        return port


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


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_every_interface_is_one_of_both_families(host: str) -> None:
    """Java's sockets are so, and clients that look up localhost may get either address first."""
    sock = bind(host, 0)
    assert local_address(sock) == ("127.0.0.1", sock.getsockname()[1])
    for address in ("127.0.0.1", "::1"):
        socket.create_connection((address, sock.getsockname()[1])).close()
    sock.close()


@pytest.mark.parametrize("host", ["", "0.0.0.0"])
def test_a_system_without_ipv6_has_every_interface_of_the_other(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = socket.socket

    def without_six(family: int = -1, *others: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return make(family, *others)

    monkeypatch.setattr(socket, "socket", without_six)
    sock = bind(host, 0)
    assert sock.getsockname()[0] == "0.0.0.0"
    sock.close()


def test_a_name_with_addresses_of_both_families_is_the_older_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Java sorts them so. Many systems have ::1 first for localhost."""
    look_up = socket.getaddrinfo

    def six_first(name: bytes, port: int, **named: int) -> list[Any]:
        assert name == b"localhost"
        return [*look_up("::1", port, **named), *look_up("127.0.0.1", port, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", six_first)
    sock = bind("localhost", 0)
    assert sock.getsockname()[0] == "127.0.0.1"
    sock.close()
