"""One connection, from accept to close: frames in, answers out, one at a time and in order.

Kafka mutes a channel while its request is being processed; here the connection's one task does the
same by nature. Three things go beyond the plain loop:

- All whole frames of one `recv` are worked off before the socket is asked again, and the answers of
  APIs that never wait travel together in one system call.
- A parked Fetch is answered (empty) as soon as anything follows it on the connection: consumers
  send a Fetch ahead, and whatever they ask next would wait behind it for up to fetch.max.wait.ms.
- Stopping shuts the reading side down: an idle connection sees the end of its input, a parked Fetch
  that there is something to read, and a request being answered is answered first.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.apis import APIS
from kafkalite.context import CloseConnection
from kafkalite.frame_reader import RECEIVE_BYTES, FrameReader
from kafkalite.sendfile import close_slices, send_chunks
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from kafkalite.listener import Listener

logger = logging.getLogger(__name__)

# Answers gathered beyond this are sent before the next request is looked at.
_GATHER_BYTES: Final = 65536

_IMMEDIATE: Final = frozenset(api.key for api in APIS.values() if api.immediate)


Answer = Callable[["Connection", InMemory], Awaitable[list[Records]]]


class Connection:
    """A client's socket (non-blocking, of the standard library) and what is known about it."""

    __slots__ = (
        "_answer",
        "_answers",
        "_fileno",
        "_reader",
        "_scope",
        "_socket",
        "client_host",
        "client_port",
        "last_active",
        "listener",
        "stopping",
    )

    def __init__(
        self,
        sock: socket.socket,
        address: tuple[str, int],
        listener: Listener,
        answer: Answer,
        max_frame_bytes: int,
    ) -> None:
        self._socket = sock
        self._fileno = sock.fileno()
        self._answer = answer
        self._answers: list[Records] = []
        self._reader = FrameReader(max_frame_bytes)
        self._scope = trio.CancelScope()
        self.client_host, self.client_port = address
        self.listener = listener
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
            logger.warning("%s: connection closed: %s", self, error)
        except CloseConnection as error:
            logger.info("%s: connection closed: %s", self, error)
        except OSError as error:
            logger.debug("%s: connection lost: %s", self, error)
        except Exception:
            logger.exception("%s: connection closed: a request could not be answered", self)
        finally:
            close_slices(self._answers)
            self._socket.close()

    async def _serve(self) -> None:
        next_frame, answer = self._reader.next_frame, self._answer
        while True:
            frame = next_frame()
            if frame is None:
                await self._send()
                if self.stopping or not await self._receive():
                    return
                continue
            if self._answers and int.from_bytes(frame[:2]) not in _IMMEDIATE:
                await self._send()
            self._answers.extend(await answer(self, frame))
            if sum(map(len, self._answers)) > _GATHER_BYTES:
                await self._send()

    async def _send(self) -> None:
        if self._answers:
            answers, self._answers = self._answers, []
            await send_chunks(self._socket, answers)

    async def _receive(self) -> bool:
        """Receive what there is, once. False: there will be no more."""
        # Waiting first, even where more may have come in already, is what keeps one busy client
        # from holding up the others: every turn goes through the scheduler.
        while True:
            await trio.lowlevel.wait_readable(self._fileno)
            room = self._reader.room()
            try:
                if room is not None:
                    count = self._socket.recv_into(room)
                    self._reader.filled(count)
                else:
                    data = self._socket.recv(RECEIVE_BYTES)
                    count = len(data)
                    self._reader.feed(data)
            except (BlockingIOError, InterruptedError):
                continue
            self.last_active = trio.current_time()
            if count == 0 and self._reader.has_input:
                raise ProtocolViolation("the client hung up in the middle of a frame")
            return count > 0

    async def more_input(self) -> None:
        """Return once something follows the request being answered, or the client has gone."""
        if not self._reader.has_input:
            await trio.lowlevel.wait_readable(self._fileno)
