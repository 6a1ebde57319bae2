"""One connection, from accept to close: a channel, its socket, and what it waits for.

The loop calls `ready` when there is input, or room for output, and `resume` when a request need not
wait any longer. Both only note responses; `send_responses` sends them, after others were answered.
What the loop tells a connection is a function of its channel's state: INTEREST.
A request that needs a task gets one (connection_task.py).

Two things go beyond the plain way of requests:

- A parked Fetch is answered (empty) as soon as anything follows it on the connection: consumers
  send a Fetch ahead, and the next request would wait behind it for up to fetch.max.wait.ms.
- Stopping answers what was received, ends waits early, and closes then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.suspension import SuspendedRequest
from kafkalite.server.channel import Channel, ChannelEvent, ChannelState
from kafkalite.server.channel_io import flush, log_end, receive
from kafkalite.server.connection_task import ConnectionTask
from kafkalite.server.interest import INTEREST, Interest
from kafkalite.server.released import Released
from kafkalite.server.request_connection import RequestConnection
from kafkalite.server.request_handler import RequestHandler
from kafkalite.server.sendfile import send_at_once
from kafkalite.server.waits import Waits
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ProtocolViolation

if TYPE_CHECKING:
    from kafkalite.server.frame_memory import FrameMemory
    from kafkalite.server.listener import Listener
    from kafkalite.server.loop import Loop
    from kafkalite.server.transport import Transport

logger = logger_of(__name__)

_READING: Final = ChannelState.READING
_ANSWERED_EARLY: Final = frozenset((ChannelState.PARKED, ChannelState.TASK_PARKED))
_WAITING: Final = frozenset((ChannelState.PARKED, ChannelState.HELD, ChannelState.MUTED))

Spawn = Callable[[Callable[[], Awaitable[object]], str], object]


class Login(RequestHandler, Protocol):
    """Answers frames until the client is known, and lets `requests` answer then."""

    requests: RequestHandler


class Connection:
    """A client's connection over `transport`, which this closes.

    `spawn` starts a task, with a name. `closed` is called at the end. `last_active` is when the
    last request came in, in seconds of trio's clock.
    """

    # For the compiled build.
    __deletable__ = ("context",)
    __slots__ = (
        "_channel",
        "_closed",
        "_interest",
        "_login",
        "_loop",
        "_max_frame_bytes",
        "_request",
        "_spawn",
        "_transport",
        "_waits",
        "client_host",
        "client_port",
        "context",
        "end_reason",
        "last_active",
        "listener",
    )

    def __init__(
        self,
        transport: Transport,
        address: tuple[str, int],
        listener: Listener,
        loop: Loop,
        handler: RequestHandler,
        *,
        max_frame_bytes: int,
        spawn: Spawn,
        closed: Callable[[Connection], None],
    ) -> None:
        self.client_host, self.client_port = address
        self.listener = listener
        self.last_active = trio.current_time()
        self.end_reason = "the client hung up"  # in words
        self._transport = transport
        self._loop = loop
        self._max_frame_bytes = max_frame_bytes
        self._login: Login | None = None
        respond = partial(handler.respond, self)
        self._channel = Channel(
            max_frame_bytes, respond, trio.current_time, steps_coroutines=loop.is_hosted
        )
        self._waits = Waits(self._channel, loop, self)
        self._request = RequestConnection(self._channel, self._waits)
        self.context = RequestContext(
            node_id=listener.node_id,
            api_key=ApiKey.API_VERSIONS,
            api_version=0,
            client_id="",
            client_host=self.client_host,
            client_port=self.client_port,
            listener_name=listener.name,
            received_at=0.0,
            connection=self._request,
            security_protocol=listener.config.security_protocol,
        )
        self._interest = Interest.NOTHING
        self._spawn: Spawn | None = spawn
        self._closed: Callable[[Connection], None] | None = closed
        self._settle()

    def __str__(self) -> str:
        return f"{self.client_host}:{self.client_port}"

    @property
    def cluster(self) -> str:
        """The name of its cluster in lines of the log; see Listener."""
        return self.listener.cluster

    @property
    def state(self) -> ChannelState:
        return self._channel.state

    @property
    def last_key(self) -> int:
        """The API key of the last request, -1 before the first."""
        return self._channel.last_key

    def answer_with(self, handler: RequestHandler) -> None:
        """Let another handler answer from the next request on, or once the client has logged in."""
        if self._login is not None:
            self._login.requests = handler
        elif self._channel.state is not ChannelState.CLOSED:
            self._channel.respond = partial(handler.respond, self)

    def log_in_by(self, login: Login, max_frame_bytes: int) -> None:
        """Let `login` answer all requests, with frames of at most this size at first."""
        self._login = login
        self._channel.respond = partial(login.respond, self)
        self.limit_frames(max_frame_bytes)

    def limit_frames(self, most: int | None = None) -> None:
        """Take frames of at most this size while the client logs in, then as large as any."""
        self._channel.reader.max_frame_bytes = most if most is not None else self._max_frame_bytes

    def claim_from(self, memory: FrameMemory) -> None:
        """Receive large frames as there is memory for them."""
        self._channel.reader.claim = partial(memory.claim, resume=self._waits.memory_granted)

    def stop(self) -> None:
        """Answer what is in flight, then close."""
        channel = self._channel
        channel.is_ending = True
        try:
            if channel.state is _READING:
                receive(self._transport, self._channel)
                self._answer()
            elif channel.state in (ChannelState.PARKED, ChannelState.HELD):
                self._waits.interrupt()
                self._answer()
            elif channel.state in (ChannelState.WRITING, ChannelState.MUTED):
                channel.end()
            elif self._request.task is not None:
                self._request.task.interrupt()
        except Exception as error:  # noqa: BLE001 - said, and closed
            self._fail(error)
        else:
            self.send_responses()

    def abort(self, reason: str = "cut") -> None:
        """Close now."""
        self.end_reason = reason
        if self._request.task is not None:
            self._request.task.cancel()  # and it closes
        else:
            self._close()

    def answer_early(self) -> None:
        """End the wait of a request that more input would end: a Fetch that waits for records."""
        if self._channel.state in _ANSWERED_EARLY and self.ready(trio.current_time()):
            self.send_responses()

    def release(self) -> Released | None:
        """Give up the socket, open, if no request is under way; else None.

        None, too, where the connection has more to it than its socket: TLS or a login.
        """
        self.answer_early()
        channel, listener = self._channel, self.listener
        if (
            channel.state is not _READING
            or channel.output
            or channel.reader.has_input
            or channel.is_ending
            or listener.config.security_protocol != "PLAINTEXT"
        ):
            return None
        context = self.context
        released = Released(
            self._transport,
            (self.client_host, self.client_port),
            listener.node_id,
            listener.name,
            context.client_id,
            context.client_software,
            context.principal,
        )
        self.end_reason = "another broker has taken it over"
        self._close(is_released=True)
        return released

    # Called by the loop

    def ready(self, now: float) -> bool:
        """There is input, or room for output. True: call `send_responses`. `now` is trio's."""
        channel = self._channel
        try:
            state = channel.state
            if state is _READING:
                self.last_active = now
                receive(self._transport, channel)
            elif state is ChannelState.PARKED:
                self.last_active = now
                self._waits.interrupt()
                if channel.state is _READING:
                    receive(self._transport, self._channel)
            elif state is ChannelState.WRITING or state is ChannelState.CLOSING:
                if not flush(self._transport, self._channel):
                    self._settle()
                    return False
            elif state is ChannelState.TASK_PARKED:
                channel.happened(ChannelEvent.RESUME)
                if self._request.task is not None:
                    self._request.task.interrupt()
            else:
                return False  # an event from before the state changed
            self._answer()
        except Exception as error:  # noqa: BLE001 - said, and closed
            self._fail(error)
            return False
        if state is not _READING or channel.state is not _READING:
            self._settle()
        return bool(channel.output)

    def resume(self, suspended: SuspendedRequest | None) -> bool:
        """The wait of `suspended`, or a pause (None), may be over. As `ready`."""
        channel = self._channel
        try:
            if not self._waits.is_over(suspended) or channel.state not in _WAITING:
                return False  # or it has been resumed already
            channel.resume()
            self._answer()
        except Exception as error:  # noqa: BLE001 - said, and closed
            self._fail(error)
            return False
        self._settle()
        return bool(channel.output)

    def send_responses(self) -> None:
        """Send the responses, as far as there is room; then do what the state asks for."""
        self._loop.joined_writes.settle()
        try:
            flush(self._transport, self._channel)
        except Exception as error:  # noqa: BLE001 - said, and closed
            self._fail(error)
        else:
            if self._interest is not Interest.INPUT or self._channel.state is not _READING:
                self._settle()

    def _answer(self) -> None:
        """Answer what was received, and send if it is much."""
        channel = self._channel
        while channel.state is _READING:
            if channel.answer(self._loop.turn_ends):
                self._loop.joined_writes.settle()
                if not flush(self._transport, self._channel):
                    return
            elif channel.state is not _READING or not self._transport.has_input:
                return
            elif perf_counter() > self._loop.turn_ends:
                channel.happened(ChannelEvent.MUTE)
            else:
                receive(self._transport, self._channel)

    def _settle(self) -> None:
        """Do what the state asks for: start the task, the timer, close, or wait."""
        channel = self._channel
        state = channel.state
        if state is ChannelState.CLOSING and not channel.output and not self._transport.has_output:
            self._close()
            return
        interest = INTEREST[state]
        if interest is not self._interest:
            self._interest = interest
            self._loop.watch(self._transport.fileno(), self, interest)
        if state is ChannelState.IN_TASK:
            self._start_task()
        elif state in _WAITING:
            self._waits.begin()

    # The end

    def _fail(self, error: Exception) -> None:
        """Log in one line why it ends, and close it. Earlier requests still get responses."""
        log_end(str(self), error)
        self.end_reason = str(error) or type(error).__name__
        is_owed = isinstance(error, (ProtocolViolation, CloseConnection))
        channel = self._channel
        if not is_owed or channel.state is not _READING:
            self.abort(self.end_reason)
            return
        if isinstance(error, CloseConnection):
            if error.last_words:
                channel.output.append(error.last_words)
            if error.reset:
                with suppress(OSError):
                    send_at_once(self._transport, channel.output)
                self._close(reset=True)
                return
        channel.end()
        self.send_responses()

    def _close(self, *, reset: bool = False, is_released: bool = False) -> None:
        """Drop all references between this and its parts, so that they are freed at once."""
        closed, self._closed = self._closed, None
        if closed is None:
            return
        self._spawn = None
        del self.context
        self._waits.close()
        if self._interest is not Interest.NOTHING:
            self._loop.watch(self._transport.fileno(), self, Interest.NOTHING)
            self._interest = Interest.NOTHING
        if reset:
            self._transport.reset()
        elif not is_released:
            self._transport.close()
        closed(self)
        self._request.closed(str(self))

    # The task

    def _start_task(self) -> None:
        if self._request.task is None and self._spawn is not None:
            self._request.task = ConnectionTask(self._channel, self._transport, self._settle)
            try:
                self._spawn(self._run_task, f"kafkalite.{self.context.api_key.name}")
            except RuntimeError:  # the broker has stopped
                self._request.task = None
                self._close()

    async def _run_task(self) -> None:
        try:
            is_done = self._request.task is not None and await self._request.task.run()
        except Exception as error:  # noqa: BLE001 - said, and closed
            self._request.task = None
            self._end_task(error)
        except BaseException:
            self._request.task = None
            self._close()
            raise
        else:
            self._request.task = None
            if is_done:
                self._end_task(None)
            else:
                self._close()

    def _end_task(self, failure: Exception | None) -> None:
        """Go on with reading, in the loop."""
        channel = self._channel
        self.last_active = trio.current_time()
        channel.happened(ChannelEvent.TASK_DONE)
        channel.reader.answered()
        if failure is not None:
            self._fail(failure)
            return
        if not channel.is_throttled() and (channel.reader.has_input or channel.is_ending):
            channel.happened(ChannelEvent.MUTE)
        self._settle()
