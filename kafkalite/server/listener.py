"""Listeners: a bound socket for each name a node listens under.

A listener is bound before the broker opens its data, so that a port in use is found at once. If
clients can know its port beforehand, it listens only when the broker can answer
(`Listener.begin`): an open port means that the broker is there, as in Apache Kafka.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from kafkalite.config.definition import ConfigError

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.config import Listener as ListenerConfig

_BACKLOG: Final = 1024
# Attempts to find free ports in a row; after that any free ports will do.
_TRIES_IN_A_ROW: Final = 20


class StartError(Exception):
    """The broker cannot start; one sentence says why."""


class Listener(Struct):
    """One bound listener of one node; `advertised_host` and `_port` are what clients are told.

    `cluster` is its cluster's name in lines of the log; "" for the first one of the process.
    """

    node_id: int
    config: ListenerConfig
    socket: socket.socket
    advertised_host: str
    advertised_port: int
    cluster: str = ""
    # Bound, and to listen as soon as its broker can answer.
    waits: bool = False

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def address(self) -> str:
        return joined(*self.socket.getsockname()[:2])

    @property
    def advertised_address(self) -> str:
        return joined(self.advertised_host, self.advertised_port)

    def close(self) -> None:
        """Stop listening, and end the task that accepts. Closing twice does nothing."""
        if self.socket.fileno() >= 0:
            with suppress(RuntimeError):  # outside of trio no task accepts
                trio.lowlevel.notify_closing(self.socket)
            self.socket.close()

    def at_rest(self) -> Listener:
        """A listener that keeps the port of this one, which is closed, and refuses all clients.

        If the port was free, some client's own end of a connection might get it by chance.
        """
        port = self.port
        self.close()
        try:
            return replace(self, socket=_bound(self.config.host, port))
        except OSError:  # somebody was faster
            return self

    def open_again(self, port: int) -> Listener:
        """A new listener on the same port, after `close` or `at_rest`. Raises StartError."""
        if self.socket.fileno() < 0:
            return replace(self, socket=bind(self.config.host, port))
        again = self.handed_on()
        try:
            again.socket.listen(_BACKLOG)
        except OSError as error:
            again.close()
            raise _cannot_listen(self.config.host, port, "", error) from None
        return again

    @property
    def is_open(self) -> bool:
        """True if it listens."""
        return self.socket.fileno() >= 0 and _listens(self.socket)

    def begin(self) -> None:
        """Listen, if it was to wait with that. Raises StartError."""
        if not self.waits or self.socket.fileno() < 0:
            return
        self.waits = False
        begin(self.socket)

    def handed_on(self) -> Listener:
        """A listener on the same port that stays as it is when this one is closed."""
        return replace(self, socket=self.socket.dup())

    @property
    def port(self) -> int:
        """The port it listens on, while it does, or rests."""
        port: int = self.socket.getsockname()[1]
        return port


def open_listeners(config: BrokerConfig) -> list[Listener]:
    """Bind every listener of every node. Raises StartError.

    Where port 0 is asked for, the nodes get ports in a row: a broker that is started again with the
    first of them as its port has the same ones, and clients find all its nodes again. These listen
    at once, so that no other process gets them. The others wait for `begin`.
    """
    if not hasattr(select, "epoll"):
        raise StartError("kafkalite needs Linux: this system has no epoll")
    bound: list[tuple[int, ListenerConfig, socket.socket]] = []
    try:
        for position in range(len(config.listeners())):
            wanted = [config.listeners(node_id)[position] for node_id in config.node_ids]
            if wanted[0].port == 0:
                sockets = _bind_in_a_row(wanted)
            else:
                sockets = _bind_all(wanted, listens=False)
            bound.extend(zip(config.node_ids, wanted, sockets, strict=True))
        return [
            _told(config.advertised_listeners(node_id), node_id, wanted, sock)
            for node_id, wanted, sock in sorted(bound, key=lambda each: each[0])
        ]
    except StartError:
        for _, _, sock in bound:
            sock.close()
        raise


def start_error_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The StartError that a nursery ended with, or else all that it ended with."""
    matching: BaseException | None = group.subgroup(StartError)
    while isinstance(matching, BaseExceptionGroup):
        matching = matching.exceptions[0]
    return matching or group


def open_missing_listeners(config: BrokerConfig, there: Sequence[Listener]) -> list[Listener]:
    """Bind the listeners of the configured nodes that are not there. Raises StartError."""
    if not there:
        return open_listeners(config)
    like = [each for each in there if each.node_id == there[-1].node_id]
    opened: list[Listener] = []
    with closed_if_cut_short(opened):
        for node_id in sorted({*config.node_ids} - {each.node_id for each in there}):
            like = open_node_listeners(config, node_id, like)
            opened += like
    return opened


def open_node_listeners(
    config: BrokerConfig, node_id: int, like: Sequence[Listener]
) -> list[Listener]:
    """Bind the listeners of a node that comes later. Raises StartError.

    Where its ports are not given by the configuration they follow those of `like`, another node's
    listeners, if they are free.
    """
    opened: list[Listener] = []
    try:
        told = config.advertised_listeners(node_id)
        for wanted, other in zip(config.listeners(node_id), like, strict=True):
            sock = _bind_near(wanted, other) if wanted.port == 0 else bind(wanted.host, wanted.port)
            opened.append(replace(_told(told, node_id, wanted, sock), cluster=other.cluster))
    except (StartError, ConfigError) as error:
        for listener in opened:
            listener.close()
        raise StartError(str(error)) from None
    return opened


def _bind_near(wanted: ListenerConfig, other: Listener) -> socket.socket:
    with suppress(StartError, OSError, OverflowError):
        return bind(wanted.host, other.advertised_port + 1)
    return bind(wanted.host, 0)


def _told(
    told: Sequence[ListenerConfig], node_id: int, wanted: ListenerConfig, sock: socket.socket
) -> Listener:
    # If it is not advertised, clients are not told of it, but may use it.
    host, port = local_address(sock)
    for advertised in told:
        if advertised.name == wanted.name:
            host, port = advertised.host, advertised.port or port
    return Listener(node_id, wanted, sock, host, port, waits=not _listens(sock))


def _bind_all(wanted: Sequence[ListenerConfig], *, listens: bool) -> list[socket.socket]:
    bound: list[socket.socket] = []
    try:
        for listener in wanted:
            bound.append(bind(listener.host, listener.port, listens=listens))
    except StartError:
        for sock in bound:
            sock.close()
        raise
    return bound


def _bind_in_a_row(wanted: Sequence[ListenerConfig]) -> list[socket.socket]:
    for _ in range(_TRIES_IN_A_ROW):
        first = bind(wanted[0].host, 0)
        port = first.getsockname()[1]
        with suppress(StartError):
            others = [
                replace(listener, port=port + step) for step, listener in enumerate(wanted) if step
            ]
            return [first, *_bind_all(others, listens=True)]
        first.close()
    return _bind_all(wanted, listens=True)


def bind(host: str, port: int, purpose: str = "", *, listens: bool = True) -> socket.socket:
    """A socket that is bound there, and listens, non-blocking.

    Raises StartError; `purpose` begins its text, where the port is not one for clients.
    """
    try:
        sock = _bound(host, port)
        try:
            if listens:
                sock.listen(_BACKLOG)
        except OSError:
            sock.close()
            raise
    except OSError as error:
        raise _cannot_listen(host, port, purpose, error) from None
    return sock


def begin(sock: socket.socket, purpose: str = "") -> None:
    """Listen, unless it does. Raises StartError."""
    try:
        if not _listens(sock):
            sock.listen(_BACKLOG)
    except OSError as error:  # another process was bound there, too, and was faster
        host, port = sock.getsockname()[:2]
        raise _cannot_listen(host, port, purpose, error) from None


def _bound(host: str, port: int) -> socket.socket:
    """A socket that is bound there and does not listen, non-blocking. Raises OSError.

    As by Java, every interface is one of IPv4 and IPv6, and a name's addresses of IPv4 come first.
    """
    if host in ("", "0.0.0.0") and _has_six():
        host = "::"
    # The codec for other names takes a millisecond to import.
    name = host.encode() if host.isascii() else host
    found = socket.getaddrinfo(name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setblocking(False)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def _has_six() -> bool:
    """True where the system has IPv6."""
    try:
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _listens(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _cannot_listen(host: str, port: int, purpose: str, error: OSError) -> StartError:
    prefix = f"{purpose}: " if purpose else ""
    return StartError(f"{prefix}cannot listen on {joined(host, port)}: {error.strerror}")


def local_address(sock: socket.socket) -> tuple[str, int]:
    """Host and port by which this machine reaches a socket: one for every interface has IPv4."""
    host, port = sock.getsockname()[:2]
    return ("127.0.0.1" if host in ("0.0.0.0", "::") else host), port


def joined(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def closed_if_cut_short(listeners: Collection[Listener]) -> Generator[None]:
    """Close listeners that are handed on if what takes them over fails or is cancelled."""
    try:
        yield
    except BaseException:
        for listener in listeners:
            listener.close()
        raise


def closed_socket() -> socket.socket:
    """A socket in the place of one that listens, for a listener that does not."""
    closed = socket.socket()
    closed.close()
    return closed
