"""One connection, from accept to close: frames in, answers out, one at a time and in order.

Kafka mutes a channel while its request is being processed; here, too, nothing on a connection
overtakes anything. Who does the work:

    the poller's task        receives, answers at once what it can (`Api.immediate`), and sends as the
                             client reads
    the connection's task    everything else: requests that have to wait, answers that a disk has to be
                             waited for, the end. Meanwhile the poller only notes further input

A handler that finds out that it has to wait says so by `await connection.move_to_task()`: the poller leaves
it as it is, and the connection's task goes on with it. One that waits for more to be in a log awaits
`connection.wait_until`: the poller itself goes on with it then.

Two things go beyond the plain loop:

- A parked Fetch is answered (empty) as soon as anything follows it on the connection: consumers
  send a Fetch ahead, and whatever they ask next would wait behind it for up to fetch.max.wait.ms.
- Stopping shuts the reading side down: an idle connection sees the end of its input, a parked Fetch
  that there is something to read, and a request being answered is answered first.
"""

from __future__ import annotations

import logging
import socket
import struct
from collections.abc import Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

import trio

from kafkalite.log.open_files import FileSlice, close_slices
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.purgatory import WakeReason, Watchers, wait_until
from kafkalite.requests.suspension import (
    NEEDS_TASK,
    ResponseCoroutine,
    SuspendedRequest,
    continued,
    move_to_task,
)
from kafkalite.server.frame_reader import RECEIVE_BYTES, FrameReader
from kafkalite.server.sendfile import send_at_once, send_chunks
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.server.listener import Listener
    from kafkalite.server.poller import Poller

logger = logging.getLogger(__name__)

# Responses gathered beyond this are sent before the next request is looked at.
_GATHER_BYTES: Final = 65536

# Up to here it is cheaper to copy from the page cache than to send a file's bytes separately.
_COPY_BELOW_BYTES: Final = 16384

# SO_LINGER of no time: closing sends a reset.
_RESET_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class RequestHandler(Protocol):
    """Who answers frames: the dispatcher."""

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The response's chunks, or a coroutine of them if the request has to wait."""
        ...


class Connection:
    """A client's socket (non-blocking, of the standard library) and what is known about it.

    `last_active` is when the request being answered, or the last one, came in.
    """

    __slots__ = (
        "_answers",
        "_dispatcher",
        "_failure",
        "_fileno",
        "_has_ended",
        "_is_armed",
        "_is_busy",
        "_is_writing",
        "_nap",
        "_parking",
        "_poller",
        "_reader",
        "_scope",
        "_sleeper",
        "_socket",
        "_suspended",
        "client_host",
        "client_port",
        "context",
        "last_active",
        "listener",
        "stopping",
    )

    def __init__(
        self,
        sock: socket.socket,
        address: tuple[str, int],
        listener: Listener,
        poller: Poller,
        dispatcher: RequestHandler,
        max_frame_bytes: int,
    ) -> None:
        self._socket = sock
        self._fileno = sock.fileno()
        self._poller = poller
        self._dispatcher = dispatcher
        self._reader = FrameReader(max_frame_bytes)
        self._scope = trio.CancelScope()
        self._sleeper: trio.lowlevel.Task | None = None
        self._is_armed = False
        # While the poller waits for room to send the rest of the answers; nothing is received then.
        self._is_writing = False
        # While the connection's task is at work, and what the poller left it to do.
        self._is_busy = False
        self._suspended: ResponseCoroutine | None = None
        # While the poller keeps what is suspended, and how long the connection's task sleeps then.
        self._parking: SuspendedRequest | None = None
        self._nap = trio.CancelScope()
        self._answers: list[Records] = []
        self._failure: Exception | None = None
        self._has_ended = False
        self.client_host, self.client_port = address
        self.listener = listener
        self.context = RequestContext(
            node_id=listener.node_id,
            api_key=ApiKey.API_VERSIONS,
            api_version=0,
            client_id="",
            client_host=self.client_host,
            listener_name=listener.name,
            received_at=0.0,
            connection=self,
        )
        self.last_active = trio.current_time()
        self.stopping = False

    def __str__(self) -> str:
        return f"{self.client_host}:{self.client_port}"

    def stop(self) -> None:
        """Answer what is in flight, then close."""
        self.stopping = True
        try:
            self._socket.shutdown(socket.SHUT_RD)
        except OSError:
            self._scope.cancel()
        if self._is_busy:
            self._wake()  # whoever is parked on this connection
        elif self._parking is not None:
            self._arm()

    def abort(self) -> None:
        """Close now."""
        self._scope.cancel()

    async def run(self) -> None:
        """Serve until either side closes. Every bad input ends here, in one line of the log."""
        try:
            with self._scope:
                try:
                    await self._serve()
                except (ProtocolViolation, CloseConnection):
                    # What came before the bad input was good, and its answers are owed.
                    await self._send()
                    raise
        except ProtocolViolation as error:
            # Where in a message, if it was in a message.
            reason = error if error.position else error.reason
            logger.warning("%s: connection closed: %s", self, reason)
        except CloseConnection as error:
            logger.info("%s: connection closed: %s", self, error)
            if error.reset:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        except OSError as error:
            logger.debug("%s: connection lost: %s", self, error)
        except Exception:
            logger.exception("%s: connection closed: a request could not be answered", self)
        finally:
            self._poller.disarm(self._fileno)
            close_slices(self._answers)
            if self._suspended is not None:
                self._suspended.close()
            self._socket.close()

    # In the poller's task

    def ready(self, now: float) -> bool:
        """There is something to read, or room to write: do what can be done, leave the rest to the task.

        True: there are answers, to be sent by `send_answers` before anything else happens here.
        """
        if self._is_busy:
            # Not now; but whoever is parked on this connection wants to know.
            self._disarm()
            self._wake()
            return False
        self.last_active = now
        try:
            if self._is_writing:
                if goes_on := self._send_at_once():
                    self._stop_writing()
                elif self._is_writing:
                    return False
            elif self._parking is not None:
                if not (self._parking.answer_early or self.stopping):
                    self._disarm()  # not now
                    return False
                self._parking.wake = WakeReason.INTERRUPTED
                goes_on = self._resume() and self._receive()
            else:
                goes_on = self._receive()
            if goes_on and self._answer_at_once() and not self.stopping:
                return not self._is_writing
        except Exception as error:  # noqa: BLE001 - the task says so, and closes
            self._failure = error
        self._leave_to_task()
        return False

    def resume(self, parking: SuspendedRequest) -> bool:
        """What a parked request waited for is there: answer it, and what came behind it. As `ready`."""
        if parking is not self._parking:
            return False
        try:
            if self._resume() and self._answer_at_once() and not self.stopping:
                self._arm()
                return not self._is_writing
        except Exception as error:  # noqa: BLE001 - the task says so, and closes
            self._failure = error
        self._leave_to_task()
        return False

    def send_answers(self) -> None:
        """Send what `ready` answered, or as much as there is room for."""
        try:
            if self._send_at_once() or self._is_writing:
                return
        except Exception as error:  # noqa: BLE001 - the task says so, and closes
            self._failure = error
        self._leave_to_task()

    def _leave_to_task(self) -> None:
        self._parking = None
        self._stop_writing()
        self._is_busy = True
        self._wake()

    def _receive(self) -> bool:
        """Receive what there is, once. False: there will be no more."""
        reader = self._reader
        room = reader.room()
        try:
            if room is not None:
                count = self._socket.recv_into(room)
                reader.filled(count)
            else:
                data = self._socket.recv(RECEIVE_BYTES)
                count = len(data)
                reader.feed(data)
        except (BlockingIOError, InterruptedError):
            return True
        if count == 0:
            self._has_ended = True
            if reader.has_input:
                raise ProtocolViolation("the client hung up in the middle of a frame")
        return count > 0

    def _answer_at_once(self) -> bool:
        """Answer all frames that are there, and send if it is much. False: the task has to go on."""
        next_frame, respond = self._reader.next_frame, self._dispatcher.respond
        size = 0
        if self._parking is not None:
            return True
        while (frame := next_frame()) is not None:
            response = respond(self, frame)
            chunks = response if isinstance(response, list) else self._step(response)
            if chunks is None:
                return self._parking is not None
            size += self._gather(chunks)
            if size > _GATHER_BYTES:
                size = 0
                if not self._send_at_once():
                    return self._is_writing
        return True

    def _gather(self, chunks: list[Records]) -> int:
        """Put an answer behind those that are to be sent; its size in bytes."""
        size = 0
        for chunk in chunks:
            if isinstance(chunk, FileSlice) and chunk.size <= _COPY_BELOW_BYTES:
                chunk = _copied(chunk)
            self._answers.append(chunk)
            size += len(chunk)
        return size

    def _step(self, handling: ResponseCoroutine) -> list[Records] | None:
        """The answer's chunks; None if the handler waits, here (`_parking`) or in a task of its own."""
        try:
            wanted = handling.send(None)
        except StopIteration as done:
            chunks: list[Records] = done.value
            return chunks
        if isinstance(wanted, SuspendedRequest):
            self._parking = wanted
            self._nap.deadline = wanted.deadline
        elif wanted is not NEEDS_TASK:
            handling.close()
            raise RuntimeError(f"a handler waited for {wanted!r} outside of its own task")
        self._suspended = handling
        return None

    def _resume(self) -> bool:
        """Go on with what is parked. False: that takes the connection's task."""
        handling, self._suspended, self._parking = self._suspended, None, None
        assert handling is not None
        chunks = self._step(handling)
        if chunks is not None:
            self._gather(chunks)
        return chunks is not None

    def _send_at_once(self) -> bool:
        """Send the answers. False: not all; the rest when there is room (`_is_writing`), or in the task."""
        answers = self._answers
        is_cached = True
        if len(answers) == 1 and isinstance(answers[0], bytes):  # nearly always
            data = answers[0]
            try:
                count = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                count = 0
            if count == len(data):
                answers.clear()
            else:
                answers[0] = memoryview(data)[count:]
        elif answers:
            is_cached = send_at_once(self._socket, answers)
        if not answers:
            return True
        if not is_cached:
            self._stop_writing()
        elif not self._is_writing:
            self._is_writing = True
            self._poller.wait_for_room(self._fileno)
        return False

    def _stop_writing(self) -> None:
        if self._is_writing:
            self._is_writing = False
            self._poller.wait_for_input(self._fileno)

    def _arm(self) -> None:
        if not self._is_armed:
            self._is_armed = True
            self._poller.arm(self._fileno, self)

    def _disarm(self) -> None:
        self._is_armed = False
        self._poller.disarm(self._fileno)

    def _wake(self) -> None:
        sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            trio.lowlevel.reschedule(sleeper)

    # In the connection's task

    async def _serve(self) -> None:
        while not self.stopping and not self._has_ended:
            self._is_busy = False
            self._arm()
            await self._rest()
            if self._failure is not None:
                raise self._failure
            await self._work()

    async def _rest(self) -> None:
        """Until the poller leaves something to do, or the time of what is parked is up."""
        while not self._is_busy:
            parking = self._parking
            with trio.CancelScope(deadline=parking.deadline if parking else inf) as self._nap:
                await self._sleep()
            parking = self._parking
            if parking is not None and parking.deadline <= trio.current_time():
                parking.wake = WakeReason.DEADLINE
                self._leave_to_task()

    async def _work(self) -> None:
        """Do what the poller left to do: send, answer the next request and all that came with it."""
        await self._send()
        suspended, self._suspended = self._suspended, None
        if suspended is not None:
            self._answers += await continued(suspended)
            await self._send()
        frame = self._reader.next_frame()
        while frame is not None:
            response = self._dispatcher.respond(self, frame)
            self._answers += response if isinstance(response, list) else await response
            await self._send()
            self.last_active = trio.current_time()
            frame = self._reader.next_frame()

    async def _send(self) -> None:
        if self._answers:
            answers, self._answers = self._answers, []
            await send_chunks(self._socket, answers)

    async def move_to_task(self) -> None:
        """Awaited by a handler before it waits for anything: from here on, it may."""
        if not self._is_busy:
            await move_to_task()

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        """Awaited by a handler: park as in purgatory.py, in the poller if that is who answers.

        Interrupted as soon as the client sends more, if `answer_early`, or the connection is to be stopped.
        """
        if not self._is_busy and self._poller.keeps_parked:
            if answer_early and self._reader.has_input:
                return WakeReason.DONE if done() else WakeReason.INTERRUPTED
            parking = SuspendedRequest(
                self, self._poller, done, deadline, answer_early=answer_early
            )
            wake = await parking.wait(watched)
            if wake is not None:
                return wake
        await self.move_to_task()
        interrupted = self.more_input if answer_early else self.stopped
        return await wait_until(done, watched, deadline, interrupted)

    async def send_now(self, chunks: list[Records]) -> None:
        """Send all that is owed, and this. For a handler in the connection's task."""
        self._answers += chunks
        await self._send()

    async def silence(self) -> None:
        """Throw away what the client sends until it hangs up, or the connection is to be stopped."""
        await self._send()
        self._disarm()
        while not self.stopping:
            await trio.lowlevel.wait_readable(self._socket)
            try:
                if not self._socket.recv(RECEIVE_BYTES):
                    return
            except (BlockingIOError, InterruptedError):
                continue

    async def more_input(self) -> None:
        """Return once something follows the request being answered, or the client has gone."""
        if self._is_armed and not self._reader.has_input:
            await self._sleep()

    async def stopped(self) -> None:
        """Return once the connection is to be stopped, whatever else the client sends."""
        while not self.stopping:
            await self._sleep()

    async def _sleep(self) -> None:
        """Until the poller has something to tell."""

        def abort(_: object) -> trio.lowlevel.Abort:
            self._sleeper = None
            return trio.lowlevel.Abort.SUCCEEDED

        self._sleeper = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)


def _copied(records: FileSlice) -> Records:
    data = records.read_cached()
    if data is None:
        return records  # to be sent by the connection's task, which may wait
    records.close()
    if len(data) < records.size:
        # The length is promised already: the connection cannot be saved.
        raise OSError(f"the segment is shorter than promised: {records.size - len(data)} bytes")
    return data
