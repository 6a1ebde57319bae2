"""Listeners: a bound socket for each name a node listens under, and the connections it accepted.

A listener is bound before the broker opens its data, so that a port in use is found at once, and
accepts only when everything behind it is there: earlier clients wait in the kernel.
"""

from __future__ import annotations

import errno
import logging
import resource
import select
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.server.connection import Connection
from kafkalite.server.failed_logins import FailedLogins
from kafkalite.server.host import drive
from kafkalite.server.loop import Loop
from kafkalite.server.request_handler import RequestHandler
from kafkalite.server.transport import PlainTransport, Transport

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.config import Listener as ListenerConfig
    from kafkalite.requests.principal import Principal
    from kafkalite.services import Services

logger = logging.getLogger(__name__)

_BACKLOG: Final = 1024
# Accepted in one go before other tasks get their turn.
_ACCEPT_AT_ONCE: Final = 64
# Out of file descriptors: wait for connections to end rather than spin.
_EXHAUSTED_PAUSE_SECONDS: Final = 0.1
# Descriptors that connections leave to segments and to modules that are still to be imported: a
# crowd of newcomers must not take from those who are being served.
_RESERVED_DESCRIPTORS: Final = 64
# How often ports in a row are looked for before any free ones will do.
_TRIES_IN_A_ROW: Final = 20
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class StartError(Exception):
    """The broker cannot start; one sentence that names the thing in the way."""


@dataclass(slots=True)
class Listener:
    """One bound listener of one node; `advertised_host` and `_port` are what clients are told."""

    node_id: int
    config: ListenerConfig
    socket: socket.socket
    advertised_host: str
    advertised_port: int

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

    def open_again(self, port: int) -> Listener:
        """One like this, after `close`, listening on the port it had. Raises StartError."""
        return replace(self, socket=bind(self.config.host, port))

    @property
    def is_open(self) -> bool:
        """Whether it listens."""
        return self.socket.fileno() >= 0

    def handed_on(self) -> Listener:
        """One of the same port that goes on when this one is closed."""
        return replace(self, socket=self.socket.dup())

    @property
    def port(self) -> int:
        """The port it listens on, while it does."""
        port: int = self.socket.getsockname()[1]
        return port


def open_listeners(config: BrokerConfig) -> list[Listener]:
    """Bind every listener of every node. Raises StartError.

    Where port 0 is asked for, the nodes get ports in a row: a broker that is started again with the
    first of them as its port has the same ones, and clients find all its nodes again.
    """
    if not hasattr(select, "epoll"):
        raise StartError("kafkalite needs Linux: this system has no epoll")
    bound: list[tuple[int, ListenerConfig, socket.socket]] = []
    try:
        for position in range(len(config.listeners())):
            wanted = [config.listeners(node_id)[position] for node_id in config.node_ids]
            sockets = _bind_in_a_row(wanted) if wanted[0].port == 0 else _bind_all(wanted)
            bound.extend(zip(config.node_ids, wanted, sockets, strict=True))
        return [
            _told(config, node_id, wanted, sock)
            for node_id, wanted, sock in sorted(bound, key=lambda each: each[0])
        ]
    except StartError:
        for _, _, sock in bound:
            sock.close()
        raise


def open_node_listeners(
    config: BrokerConfig, node_id: int, like: Sequence[Listener]
) -> list[Listener]:
    """Bind the listeners of a node that comes later. Raises StartError.

    Where its ports are not given by the configuration they follow those of `like`, another node's
    listeners, if they are free.
    """
    opened: list[Listener] = []
    try:
        for wanted, other in zip(config.listeners(node_id), like, strict=True):
            sock = _bind_near(wanted, other) if wanted.port == 0 else bind(wanted.host, wanted.port)
            opened.append(_told(config, node_id, wanted, sock))
    except StartError:
        for listener in opened:
            listener.close()
        raise
    return opened


def _bind_near(wanted: ListenerConfig, other: Listener) -> socket.socket:
    with suppress(StartError, OSError, OverflowError):
        return bind(wanted.host, other.advertised_port + 1)
    return bind(wanted.host, 0)


def _told(
    config: BrokerConfig, node_id: int, wanted: ListenerConfig, sock: socket.socket
) -> Listener:
    for advertised in config.advertised_listeners(node_id):
        if advertised.name == wanted.name:
            port = advertised.port or sock.getsockname()[1]
            return Listener(node_id, wanted, sock, advertised.host, port)
    # Not advertised: clients are not told of it, but may use it.
    host, port = sock.getsockname()[:2]
    return Listener(node_id, wanted, sock, host, port)


def _bind_all(wanted: Sequence[ListenerConfig]) -> list[socket.socket]:
    bound: list[socket.socket] = []
    try:
        for listener in wanted:
            bound.append(bind(listener.host, listener.port))
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
            return [first, *_bind_all(others)]
        first.close()
    return _bind_all(wanted)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there, non-blocking. Raises StartError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"cannot listen on {joined(host, port)}: {error.strerror}") from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise StartError(f"cannot listen on {joined(host, port)}: {error.strerror}") from None
    return sock


def joined(host: str, port: int) -> str:
    """host:port, as it is written."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _close_later(sock: socket.socket, seconds: float) -> None:
    """Hold the connection of a client that connects too often (KIP-612), then close it."""
    try:
        await trio.sleep(seconds)
    finally:
        sock.close()


class Connections:
    """All connections of a broker: accepted, served, counted, closed when idle or at the end."""

    def __init__(
        self, handler: RequestHandler, config: BrokerConfig, loop: Loop, services: Services
    ) -> None:
        self._handler = handler
        self._services = services
        self.failed_logins = FailedLogins()
        self._config = config
        self.loop = loop
        self._max_frame_bytes = config.integer("socket.request.max.bytes")
        # Only where somebody has set them: a size that is set is one the system no longer tunes.
        self._buffer_sizes = [
            (option, config.integer(name))
            for option, name in (
                (socket.SO_RCVBUF, "socket.receive.buffer.bytes"),
                (socket.SO_SNDBUF, "socket.send.buffer.bytes"),
            )
            if name in config.static and config.integer(name) >= 0
        ]
        self._max_idle_seconds = config.integer("connections.max.idle.ms") / 1000
        self._count_by_node: Counter[int] = Counter()
        self._count_by_host: Counter[tuple[int, str]] = Counter()
        self._full = trio.lowlevel.ParkingLot()
        config.subscribe(self._look_again)
        self._is_exhausted = False
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._first_reserved = limit - min(_RESERVED_DESCRIPTORS, limit // 2)
        self._open: set[Connection] = set()
        self._none_left = trio.Event()
        self._stopping = False

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._open))

    async def serve(self) -> None:
        """Serve the connections for ever."""
        if self.loop.is_hosted:
            await trio.sleep_forever()  # the host does
        await drive(self.loop)

    def answer_with(self, handler: RequestHandler) -> None:
        """Let another handler answer, on connections that are open and on all that come."""
        self._handler = handler
        for connection in self._open:
            connection.answer_with(handler)

    def close(self) -> None:
        """Close every connection that is still open."""
        for connection in tuple(self._open):
            connection.abort()

    async def accept(self, listener: Listener, nursery: trio.Nursery) -> None:
        """Accept until the listener closes; each connection becomes a task in `nursery`.

        Beyond max.connections clients wait; beyond max.connections.per.ip they are turned away.
        """
        # A listener that is opened again has another socket, and another task like this.
        bound = listener.socket
        for option, size in self._buffer_sizes:
            bound.setsockopt(socket.SOL_SOCKET, option, size)  # accepted sockets inherit it
        while bound.fileno() >= 0:
            try:
                await trio.lowlevel.wait_readable(bound)
            except trio.ClosedResourceError:
                return
            while self._is_full(listener.node_id):
                await self._full.park()
            try:
                for _ in range(_ACCEPT_AT_ONCE):
                    if self._is_full(listener.node_id):
                        break
                    sock, address = bound.accept()
                    # The kernel gives out the lowest number that is free.
                    number = sock.fileno()
                    self._start(sock, address, listener, nursery)
                    if number >= self._first_reserved:
                        self._warn_exhausted("the rest of the descriptors is for files")
                        await self._full.park()
                    elif number < self._first_reserved // 2:
                        self._is_exhausted = False
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._warn_exhausted(error.strerror)
                    await trio.sleep(_EXHAUSTED_PAUSE_SECONDS)
                # Anything else concerns a client that has gone already.

    def _warn_exhausted(self, reason: str | None) -> None:
        """Say once that clients have to wait now."""
        if not self._is_exhausted:
            self._is_exhausted = True
            logger.error(
                "no more connections are accepted with %d open: %s (raise ulimit -n)",
                len(self),
                reason,
            )

    def _start(
        self,
        sock: socket.socket,
        address: tuple[str, int],
        listener: Listener,
        nursery: trio.Nursery,
    ) -> None:
        sock.setblocking(False)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        host, port = address[0].removeprefix("::ffff:"), address[1]
        most = self._most_from(host, listener.node_id)
        if self._count_by_host[listener.node_id, host] >= most:
            logger.warning(
                "%s:%d: connection closed: max.connections.per.ip is %d", host, port, most
            )
            sock.close()
            return
        if self._services.security.has_quotas:
            quotas = self._services.security.quotas(listener.node_id)
            wait_ms = quotas.connections.throttle_ms(host, int(trio.current_time() * 1000))
            if wait_ms:
                nursery.start_soon(_close_later, sock, wait_ms / 1000)
                return
        self._count_by_host[listener.node_id, host] += 1
        self._count_by_node[listener.node_id] += 1
        connection = self._connect(sock, (host, port), listener, nursery)
        self._open.add(connection)
        if self._stopping:
            connection.stop()

    def _connect(
        self,
        sock: socket.socket,
        address: tuple[str, int],
        listener: Listener,
        nursery: trio.Nursery,
    ) -> Connection:
        """A connection, behind what its listener asks of clients first."""
        protocol = listener.config.security_protocol

        def connect(transport: Transport) -> Connection:
            return Connection(
                transport,
                address,
                listener,
                self.loop,
                self._handler,
                max_frame_bytes=self._max_frame_bytes,
                spawn=lambda function, name: nursery.start_soon(function, name=name),
                closed=self._closed,
            )

        if protocol == "PLAINTEXT":
            return connect(PlainTransport.over(sock))
        from kafkalite.server.secured import require_login, tls_transport

        security = self._services.security.listener(listener.node_id, listener.name, protocol)
        if security.context is None:
            connection = connect(PlainTransport.over(sock))
        else:

            def identified(principal: Principal) -> None:
                connection.context.principal = principal

            def failed(reason: str) -> None:
                self.failed_logins.add(address[0], reason)

            connection = connect(tls_transport(sock, security, identified, failed))
        if security.mechanisms is not None:
            require_login(connection, self._services, self._handler, security, self.failed_logins)
        return connection

    def _look_again(self) -> None:
        """max.connections may be another now."""
        self._full.unpark_all()

    def _is_full(self, node_id: int) -> bool:
        return self._count_by_node[node_id] >= self._config.integer("max.connections", node_id)

    def _most_from(self, host: str, node_id: int) -> int:
        overrides = self._config.string("max.connections.per.ip.overrides", node_id) or ""
        for override in overrides.split(","):
            address, _, count = override.rpartition(":")
            if address.strip() == host and count.strip().isdigit():
                return int(count)
        return self._config.integer("max.connections.per.ip", node_id)

    def _closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        node_id = connection.listener.node_id
        self._count_by_node[node_id] -= 1
        self._count_by_host[node_id, connection.client_host] -= 1
        self._full.unpark_all()
        if self._stopping and not self._open:
            self._none_left.set()

    def cut(self, node_id: int) -> None:
        """Close a node's connections without another word, as if its process had died."""
        for connection in tuple(self._open):
            if connection.listener.node_id == node_id:
                connection.abort()

    def cut_all(self) -> None:
        """Close all connections without another word."""
        for connection in tuple(self._open):
            connection.abort()

    async def close_idle(self) -> None:
        """Close for ever what was silent for connections.max.idle.ms."""
        if self._max_idle_seconds < 0:
            return
        while True:
            # A tenth of the limit is the most by which a connection may outlive it.
            await trio.sleep(min(max(self._max_idle_seconds / 10, 0.1), 60.0))
            limit = trio.current_time() - self._max_idle_seconds
            for connection in [each for each in self._open if each.last_active < limit]:
                logger.info("%s: connection closed: idle", connection)
                connection.abort()

    async def stop(self, patience_seconds: float) -> None:
        """Answer what is in flight, close everything; what takes longer is cut off."""
        self._stopping = True
        for connection in tuple(self._open):
            connection.stop()
        if self._open:
            with trio.move_on_after(patience_seconds):
                await self._none_left.wait()
        for connection in tuple(self._open):
            connection.abort()
