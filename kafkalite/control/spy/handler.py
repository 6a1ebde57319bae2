"""The spy's place in the way of frames: it keeps them as they come and go, and decodes nothing.

It stands around the dispatcher, so it sees what does not parse, too. A connection has it only
while the spy is on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from time import time_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, cast

from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.log.open_files import FileSlice
from kafkalite.requests.suspension import ResponseCoroutine

if TYPE_CHECKING:
    from kafkalite.server.connection import Connection
    from kafkalite.server.request_handler import RequestHandler
    from kafkalite.wire.fields import InMemory, Records

# So much of a request is kept, unless all is asked for.
FIRST_BYTES: Final = 4096


class SpyHandler:
    """Answers as `inner` does, and keeps frames in the ring. `full`: with all their bytes."""

    def __init__(self, inner: RequestHandler, ring: Ring, *, full: bool) -> None:
        self._respond = inner.respond
        self._ring = ring
        self._keep = ring.keep
        self._full = full
        self._most = 1 << 31 if full else FIRST_BYTES

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The answer of `inner`. Raises what it raises."""
        context = connection.context
        if context.fault or context.is_silent:
            context.fault, context.is_silent = "", False
        received_ns = time_ns()
        size = len(frame)
        kept = bytes(frame if size <= self._most else frame[: self._most])
        try:
            response = self._respond(connection, frame)
        except Exception as error:
            entry = self._add(connection, kept, size, received_ns)
            entry.fault, entry.is_silent = context.fault, context.is_silent
            self._failed(entry, error)
            raise
        if isinstance(response, list):
            if len(response) == 1 and type(response[0]) is bytes and not context.fault:
                host, port = connection.client_host, connection.client_port
                # Found out here, as what dispatch has just heard of the client counts, too.
                client, listener = context.client_software, connection.listener
                self._keep(
                    (received_ns, time_ns(), host, port, client, listener, kept, size, response[0])
                )
                return response
            entry = self._add(connection, kept, size, received_ns)
            entry.fault = context.fault
            self._answered(entry, response)
            return response
        entry = self._add(connection, kept, size, received_ns)
        entry.context = context
        return _Awaited(response, entry, self._answered, self._failed)

    def _add(self, connection: Connection, kept: bytes, size: int, received_ns: int) -> Entry:
        client = connection.client_host, connection.client_port
        entry = self._ring.add(client, kept, size, received_ns)
        entry.software = connection.context.client_software
        entry.listener = connection.listener
        return entry

    def _answered(self, entry: Entry, chunks: list[Records]) -> None:
        kept = tuple(kept_of(chunk, full=self._full) for chunk in chunks)
        self._ring.ended(entry, "answered" if kept else "none", kept)

    def _failed(self, entry: Entry, error: BaseException) -> None:
        entry.why = str(error) or type(error).__name__
        self._ring.ended(entry, "silent" if entry.is_silent else "closed")


class TapeHandler(SpyHandler):
    """Keeps a request before it is handled: what it brings about comes after it on a tape."""

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The answer of `inner`. Raises what it raises."""
        entry = self._add(connection, bytes(frame), len(frame), time_ns())
        try:
            response = self._respond(connection, frame)
        except Exception as error:
            self._failed(entry, error)
            raise
        if isinstance(response, list):
            self._answered(entry, response)
            return response
        return _Awaited(response, entry, self._answered, self._failed)


def kept_of(chunk: Records, *, full: bool) -> bytes | int:
    """The bytes of a part of an answer; its size if it is in a file."""
    if not isinstance(chunk, FileSlice):
        return bytes(cast("InMemory", chunk))
    if full:
        try:
            return chunk.read()
        except OSError:
            return chunk.size
    return chunk.size


class _Awaited(Coroutine[Any, Any, Any]):
    """The coroutine of an answer, which tells what it returns, or raises, at last."""

    __slots__ = ("_answered", "_entry", "_failed", "_inner")

    def __init__(
        self,
        inner: ResponseCoroutine,
        entry: Entry,
        answered: Callable[[Entry, list[Records]], None],
        failed: Callable[[Entry, BaseException], None],
    ) -> None:
        self._inner = inner
        self._entry = entry
        self._answered = answered
        self._failed = failed

    def send(self, value: Any) -> Any:
        """Go on."""
        try:
            wanted = self._inner.send(value)
        except StopIteration as done:
            self._ended()
            self._answered(self._entry, done.value)
            raise
        except BaseException as error:
            self._raised(error)
            raise
        if not self._entry.parked_ns:
            self._entry.parked_ns = time_ns()
        return wanted

    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
    ) -> Any:
        """Go on with an exception."""
        error = kind if isinstance(kind, BaseException) else kind()
        try:
            return self._inner.throw(error)
        except StopIteration as done:
            self._ended()
            self._answered(self._entry, done.value)
            raise
        except BaseException as raised:
            self._raised(raised)
            raise

    def close(self) -> None:
        """Give it up: the connection is closed."""
        if self._entry.outcome == "waiting":
            self._raised(ConnectionError("the connection was closed"))
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return cast("Generator[Any, Any, Any]", self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def _raised(self, error: BaseException) -> None:
        self._ended()
        self._failed(self._entry, error)

    def _ended(self) -> None:
        entry = self._entry
        context, entry.context = entry.context, None
        if context is not None:
            entry.fault = context.fault
            entry.is_silent = context.is_silent
