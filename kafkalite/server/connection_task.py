"""The task of a connection, which exists only while a request needs one.

It sends what comes before the request's response, makes the response, sends it, and ends. Meanwhile
the loop leaves the connection alone, unless a request waits here that more input ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import trio

from kafkalite.requests import purgatory
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.purgatory import Soon, WakeReason, Watchers
from kafkalite.requests.request_memory import give_back
from kafkalite.requests.suspension import continued
from kafkalite.server.channel import Channel, ChannelEvent, ChannelState
from kafkalite.server.frame_reader import RECEIVE_BYTES
from kafkalite.server.sendfile import send_chunks

if TYPE_CHECKING:
    from kafkalite.server.transport import Transport
    from kafkalite.wire.fields import Records


class ConnectionTask:
    """One request's task. `settle` is called when the channel's state has changed."""

    __slots__ = ("_channel", "_nap", "_scope", "_settle", "_transport")

    def __init__(self, channel: Channel, transport: Transport, settle: Callable[[], None]) -> None:
        self._channel = channel
        self._transport = transport
        self._settle = settle
        self._scope = trio.CancelScope()
        # The wait that more input, or stopping, ends.
        self._nap: trio.CancelScope | None = None

    async def run(self) -> bool:
        """Send the response; False: the task was cancelled. Raises what the handler raises."""
        channel = self._channel
        is_done = False
        with self._scope:
            await self.send(channel.take_output())
            coroutine = channel.take_coroutine()
            if coroutine is not None:
                await self.send(await continued(coroutine))
            is_done = True
        return is_done

    def cancel(self) -> None:
        """Let the task end, whatever it waits for."""
        self._scope.cancel()

    def interrupt(self) -> None:
        """End the request's wait, if there is one that may be ended."""
        if self._nap is not None:
            self._nap.cancel()

    async def send(self, chunks: list[Records]) -> None:
        """Send all chunks. Raises OSError."""
        await send_chunks(self._transport, chunks)

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
        soon: Soon,
    ) -> WakeReason:
        """Wait as Connection.wait_until says. `soon` has the loop look whether it is over."""
        channel = self._channel
        if done():
            return WakeReason.DONE
        with trio.CancelScope() as self._nap:
            if answer_early:
                channel.happened(ChannelEvent.PARK)
                self._settle()
            try:
                return await purgatory.wait_until(done, watched, deadline, soon)
            finally:
                self._nap = None
                if channel.state is ChannelState.TASK_PARKED:
                    channel.happened(ChannelEvent.RESUME)
                    self._settle()
        return WakeReason.DONE if done() else WakeReason.INTERRUPTED

    async def silence(self) -> None:
        """Read and throw away until the client hangs up or the broker stops: CloseConnection."""
        give_back()
        with trio.CancelScope() as self._nap:
            while not self._channel.is_ending:
                await trio.lowlevel.wait_readable(self._transport.fileno())
                try:
                    if not self._transport.recv(RECEIVE_BYTES):
                        break
                except BlockingIOError:
                    continue
        raise CloseConnection("silent until the end")
