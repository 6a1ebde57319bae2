"""The connections of a broker: accepted, counted, kept to their limits, and closed."""

from __future__ import annotations

import errno
import resource
import socket
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.config.connection_limits import has_rate
from kafkalite.log.loggers import logger_of
from kafkalite.requests.hosts import host_text
from kafkalite.requests.slices import Steps, at_once, in_slices_of_task
from kafkalite.server.connection import Connection
from kafkalite.server.connection_counts import ConnectionCounts
from kafkalite.server.host import drive
from kafkalite.server.listener import Listener
from kafkalite.server.logins import Logins
from kafkalite.server.loop import Loop
from kafkalite.server.released import Released, close_released
from kafkalite.server.request_handler import RequestHandler
from kafkalite.server.transport import PlainTransport, Transport
from kafkalite.supervision import supervised

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.requests.principal import Principal
    from kafkalite.security.accept_rates import AcceptRates
    from kafkalite.services import Services

logger = logger_of(__name__)

# Accepted in one go before other tasks get their turn.
_ACCEPT_AT_ONCE: Final = 64
# Excess ones that are closed in one go.
_CLOSE_AT_ONCE: Final = 64
# Out of file descriptors: wait for connections to end rather than spin.
_EXHAUSTED_PAUSE_SECONDS: Final = 0.1
# Descriptors that connections leave to segments and to modules that are still to be imported: a
# crowd of newcomers must not take from those who are being served.
_RESERVED_DESCRIPTORS: Final = 64
# Turns of trio that it takes to answer a request that waits in a task.
_TICKS: Final = 5
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


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
        self.logins = Logins()
        self._config = config
        self.loop = loop
        self._max_frame_bytes = config.integer("socket.request.max.bytes")
        # The system tunes a size that is not set, and does it well for what is received:
        # docs/optimizations.md.
        names = {socket.SO_SNDBUF: "socket.send.buffer.bytes"}
        if "socket.receive.buffer.bytes" in config.static:
            names[socket.SO_RCVBUF] = "socket.receive.buffer.bytes"
        sizes = {option: config.integer(name) for option, name in names.items()}
        self._buffer_sizes = [each for each in sizes.items() if each[1] >= 0]
        self._max_idle_seconds = config.integer("connections.max.idle.ms") / 1000
        self._counts = ConnectionCounts(config)
        self._full = trio.lowlevel.ParkingLot()
        # None without a limit.
        self._accept_rates: AcceptRates | None = None
        self._is_exhausted = False
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._first_reserved = limit - min(_RESERVED_DESCRIPTORS, limit // 2)
        self._open: set[Connection] = set()
        self._none_left = trio.Event()
        # Accepts on one more listener, while `listen` runs.
        self.listen_on: Callable[[Listener], None]
        self._listeners: dict[tuple[int, str], Listener] = {}
        self._nursery: trio.Nursery | None = None
        self._context = copy_context()
        self._stopping = False
        # Told of each connection that is opened, and of its end with the reason.
        self.opened: Callable[[Connection], None] | None = None
        self.ended: Callable[[Connection], None] | None = None
        self._look_again()
        config.subscribe(self._look_again)

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._open))

    async def serve(self) -> None:
        """Serve the connections for ever."""
        if self.loop.is_hosted:
            await trio.sleep_forever()  # the host does
        await drive(self.loop)

    async def listen(
        self,
        listeners: Iterable[Listener],
        listening: trio.CancelScope,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept on all listeners until `listening` is cancelled, and end with the connections."""
        # Connections outlive the accepting: they have a nursery around it.
        async with trio.open_nursery() as connections:
            self._nursery = connections
            self._context = copy_context()
            self._look_again()  # with the changes of the metadata
            with listening:
                async with trio.open_nursery() as nursery:

                    def listen_on(listener: Listener) -> None:
                        for option, size in self._buffer_sizes:  # accepted sockets inherit them
                            listener.socket.setsockopt(socket.SOL_SOCKET, option, size)
                        self._listeners[listener.node_id, listener.name] = listener
                        nursery.start_soon(self.accept, listener, connections)

                    self.listen_on = listen_on
                    for listener in listeners:
                        listen_on(listener)
                    task_status.started()
                    await trio.sleep_forever()

    def answer_with(self, handler: RequestHandler) -> None:
        """Let another handler answer, on connections that are open and on all that come."""
        self._handler = handler
        for connection in self._open:
            connection.answer_with(handler)

    async def accept(self, listener: Listener, nursery: trio.Nursery) -> None:
        """Accept until the listener closes; each connection becomes a task in `nursery`.

        Beyond max.connections and max.connection.creation.rate clients wait; beyond
        max.connections.per.ip they are turned away.
        """
        # A listener that is opened again has another socket, and another task like this.
        bound = listener.socket
        while bound.fileno() >= 0:
            try:
                await trio.lowlevel.wait_readable(bound)
            except trio.ClosedResourceError:
                return
            while self._counts.is_full(listener):
                await self._full.park()
            try:
                for _ in range(_ACCEPT_AT_ONCE):
                    if self._counts.is_full(listener):
                        break
                    sock, address = bound.accept()
                    # The kernel gives out the lowest number that is free.
                    number = sock.fileno()
                    await self._its_turn(sock, listener)
                    self._start(sock, address, listener, nursery)
                    if number >= self._first_reserved:
                        self._warn_exhausted("the rest of the descriptors is for files")
                        await self._full.park()
                    elif number < self._first_reserved // 2:
                        self._is_exhausted = False
            except BlockingIOError:
                continue
            except OSError as error:  # any other concerns a client that has gone already
                if error.errno in _EXHAUSTED:
                    self._warn_exhausted(error.strerror)
                    await trio.sleep(_EXHAUSTED_PAUSE_SECONDS)

    def _warn_exhausted(self, reason: str | None) -> None:
        """Say once that clients have to wait now."""
        if not self._is_exhausted:
            self._is_exhausted = True
            text = "no more connections are accepted with %d open: %s (raise ulimit -n)"
            logger.error(text, len(self), reason)

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
        host, port = host_text(address[0]), address[1]
        if self._services.security.has_quotas:
            quotas = self._services.security.quotas(listener.node_id)
            now_ms = int(trio.current_time() * 1000)
            wait_ms = quotas.connections.throttle_ms(host, now_ms)
            if wait_ms:
                if self._accept_rates is not None:
                    self._accept_rates.take_back(listener.node_id, listener.name, now_ms)
                nursery.start_soon(_close_later, sock, wait_ms / 1000)
                return
        most = self._counts.most_from(host, listener.node_id)
        if self._counts.of_host(host, listener.node_id) >= most:
            logger.warning(
                "%s:%d: connection closed: max.connections.per.ip is %d", host, port, most
            )
            sock.close()
            return
        self._add(self._connect(sock, (host, port), listener, nursery))

    def _add(self, connection: Connection) -> None:
        """Count a connection that was opened."""
        self._counts.add(connection)
        self._open.add(connection)
        self._close_excess()
        if self.opened is not None:
            self.opened(connection)
        if self._stopping:
            connection.stop()

    def _connect(
        self,
        sock: socket.socket,
        address: tuple[str, int],
        listener: Listener,
        nursery: trio.Nursery,
    ) -> Connection:
        """A connection with what its listener asks for first: TLS, a login."""
        protocol = listener.config.security_protocol

        def connect(transport: Transport) -> Connection:
            return self._over(transport, address, listener, nursery)

        if protocol == "PLAINTEXT":
            return connect(PlainTransport.over(sock))
        from kafkalite.server.secured import require_login, tls_transport

        security = self._services.security.listener(listener.node_id, listener.name, protocol)
        if security.tls is None:
            connection = connect(PlainTransport.over(sock))
        else:

            def identified(principal: Principal) -> None:
                connection.context.principal = principal
                self.logins.successful += 1

            def failed(reason: str) -> None:
                self.logins.add_failed(address[0], reason)

            connection = connect(tls_transport(sock, security, identified, failed))
        if security.mechanisms is not None:
            require_login(connection, self._services, self._handler, security, self.logins)
        return connection

    def _over(
        self,
        transport: Transport,
        address: tuple[str, int],
        listener: Listener,
        nursery: trio.Nursery,
    ) -> Connection:
        return Connection(
            transport,
            address,
            listener,
            self.loop,
            self._handler,
            max_frame_bytes=self._max_frame_bytes,
            # Lines of its task are about the cluster whose task listens.
            spawn=lambda run, name: self._context.run(partial(nursery.start_soon, run, name=name)),
            closed=self._closed,
        )

    async def release(self) -> list[Released]:
        """Give up the connections that no request is under way on. The others stay as they are.

        A Fetch that waits for records is answered first.
        """
        for each in tuple(self._open):
            each.answer_early()
        if not self.loop.is_hosted:
            # Requests wait in tasks there, which are to go on first.
            for _ in range(_TICKS):
                await trio.lowlevel.checkpoint()
        return [found for each in tuple(self._open) if (found := each.release()) is not None]

    def adopt(self, released: Iterable[Released]) -> int:
        """Serve, while `listen` runs, what another broker has released; how many there are.

        One of a listener that is not here is closed.
        """
        count = 0
        for each in released:
            listener = self._listeners.get((each.node_id, each.listener_name))
            if listener is None or self._nursery is None:
                close_released([each])
                continue
            connection = self._over(each.transport, each.address, listener, self._nursery)
            each.tell(connection.context)
            self._add(connection)
            count += 1
        return count

    def _look_again(self) -> None:
        """The limits may be others now."""
        self._counts.look_again()
        self._full.unpark_all()
        if self._nursery is not None and (hosts := self._counts.unknown_hosts()):
            look_up = partial(self._counts.look_up, hosts)
            self._nursery.start_soon(supervised, "names of hosts with limits", look_up)
        self._close_excess()
        if self._accept_rates is None and has_rate(self._config):
            from kafkalite.security.accept_rates import AcceptRates

            self._accept_rates = AcceptRates(self._config)

    async def _its_turn(self, sock: socket.socket, listener: Listener) -> None:
        """Wait until a connection may be let in."""
        if self._accept_rates is None:
            return
        now_ms = int(trio.current_time() * 1000)
        wait_ms = self._accept_rates.wait_ms(listener.node_id, listener.name, now_ms)
        if wait_ms:
            try:
                await trio.sleep(wait_ms / 1000)
                # Others may have come meanwhile, to another listener.
                while self._counts.is_full(listener):
                    await self._full.park()
            except trio.Cancelled:
                sock.close()
                raise

    def _closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._counts.remove(connection)
        self._full.unpark_all()
        if self.ended is not None:
            self.ended(connection)
        if self._stopping and not self._open:
            self._none_left.set()

    def _close_excess(self) -> None:
        """Close a node's excess connections: some now, others after other tasks' turns."""
        for connection in (excess := self._counts.too_many(self._open, _CLOSE_AT_ONCE)):
            logger.info("%s: connection closed: max.connections", connection)
            connection.abort("max.connections")
        if len(excess) == _CLOSE_AT_ONCE:
            self.loop.soon(self._close_excess)

    def cut(self, node_id: int) -> None:
        """Close a node's connections at once, as if its process had died."""
        for connection in tuple(self._open):
            if connection.listener.node_id == node_id:
                connection.abort(f"node {node_id} has stopped")

    def cut_all(self, reason: str = "cut") -> None:
        """Close all connections at once."""
        at_once(self.cutting(reason))

    def cutting(self, reason: str = "cut") -> Steps[None]:
        """Close those that there are now, one a step."""
        for connection in tuple(self._open):
            connection.abort(reason)
            yield

    async def close_idle(self) -> None:
        """Close connections that were silent for connections.max.idle.ms, until cancelled."""
        while self._max_idle_seconds >= 0:
            # A tenth of the limit is the most by which a connection may outlive it.
            await trio.sleep(min(max(self._max_idle_seconds / 10, 0.1), 60.0))
            await in_slices_of_task(self._closing_idle())

    def _closing_idle(self) -> Steps[None]:
        limit = trio.current_time() - self._max_idle_seconds
        for connection in tuple(self._open):
            if connection in self._open and connection.last_active < limit:
                logger.info("%s: connection closed: idle", connection)
                connection.abort("idle")
            yield

    async def stop(self, patience_seconds: float) -> None:
        """Answer requests in flight, then close all connections. Slower ones are cut off."""
        self._stopping = True
        for connection in tuple(self._open):
            connection.stop()
        if self._open:
            with trio.move_on_after(patience_seconds):
                await self._none_left.wait()
        self.cut_all("the broker has stopped")
