"""A connection as the handler of its request sees it (requests.context.ClientConnection).

A handler runs in the loop until it asks for the connection's task, where anything may be awaited.
Here the two are told apart, so that a handler need not know where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.requests import suspension
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.purgatory import WakeReason, Watchers
from kafkalite.requests.suspension import SuspendedRequest

if TYPE_CHECKING:
    from kafkalite.server.channel import Channel
    from kafkalite.server.connection_task import ConnectionTask
    from kafkalite.server.waits import Waits
    from kafkalite.wire.fields import Records

logger = logger_of(__name__)


class RequestConnection:
    """The connection of one request. `task` is there while the request runs in one."""

    __slots__ = ("__weakref__", "_channel", "_waits", "_when_closed", "task")

    def __init__(self, channel: Channel, waits: Waits) -> None:
        self._channel = channel
        self._waits = waits
        self._when_closed: list[Callable[[], None]] = []
        self.task: ConnectionTask | None = None

    async def move_to_task(self) -> None:
        """Go on in a task, where anything may be awaited."""
        if self.task is None:
            await suspension.move_to_task()

    async def yield_turn(self) -> None:
        """Let other connections, and trio, have their turn; then go on."""
        if self.task is None:
            await suspension.yield_turn()
        else:
            await trio.lowlevel.checkpoint()

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        """Wait as in purgatory.py, in the loop if the request is there.

        INTERRUPTED as soon as the client sends more, if `answer_early`, or the connection stops.
        """
        channel = self._channel
        if channel.is_ending or (answer_early and channel.reader.has_input):
            return WakeReason.DONE if done() else WakeReason.INTERRUPTED
        watched = tuple(watched)
        if self.task is None:
            resume = self._waits.resume
            suspended = SuspendedRequest(done, deadline, resume, answer_early=answer_early)
            wake = await suspended.wait(watched)
            if wake is not None:
                return wake
        task = await self._in_task()
        soon = self._waits.soon
        return await task.wait_until(done, watched, deadline, answer_early=answer_early, soon=soon)

    async def send(self, chunks: list[Records]) -> None:
        """Send at once, ahead of the response. Raises OSError."""
        task = await self._in_task()
        await task.send(chunks)

    async def silence(self) -> None:
        """Read and throw away until the client hangs up or the broker stops."""
        task = await self._in_task()
        await task.silence()

    async def _in_task(self) -> ConnectionTask:
        await self.move_to_task()
        assert self.task is not None
        return self.task

    def mute(self, until: float) -> None:
        """Read no further request before `until` (trio's clock), once this one is answered."""
        self._channel.muted_until = max(self._channel.muted_until, until)

    def replace_response(self, chunks: list[Records], instead: list[Records]) -> None:
        """Send other chunks than those, which are not sent yet."""
        output, count = self._channel.output, len(chunks)
        for place in range(len(output)):
            if output[place] is chunks[0]:
                output[place : place + count] = instead
                return
        # Somebody between the dispatcher and the connection has them.
        self.hang_up(CloseConnection("a response that is not true any more cannot be taken back"))

    def hang_up(self, error: Exception) -> None:
        """Close the connection soon, for this error."""
        self._waits.hang_up(error)

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the connection is closed. It must not raise."""
        self._when_closed.append(callback)

    def closed(self, name: str) -> None:
        """Give up the request, and call the callbacks. `name` is the connection's in the log."""
        callbacks, self._when_closed = self._when_closed, []
        for callback in (self._channel.close, *callbacks):
            try:
                callback()
            except Exception:
                logger.exception("%s: not everything could be given up", name)
