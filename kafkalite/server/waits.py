"""The waits of one connection in the loop: until a condition, a deadline, or the next turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Protocol

from kafkalite.group_coordinator.timers import Timer
from kafkalite.requests.purgatory import WakeReason
from kafkalite.server.channel_io import log_end

if TYPE_CHECKING:
    from kafkalite.requests.suspension import SuspendedRequest
    from kafkalite.server.channel import Channel
    from kafkalite.server.loop import Loop


class Waiting(Protocol):
    """The connection that waits; see connection.py."""

    def ready(self, now: float) -> bool: ...

    def resume(self, suspended: SuspendedRequest | None) -> bool: ...

    def send_responses(self) -> None: ...

    def abort(self, reason: str = "") -> None: ...

    @property
    def last_key(self) -> int: ...


class Waits:
    """Lets the loop resume `watched`, whose channel waits."""

    __slots__ = ("_channel", "_is_queued", "_loop", "_timer", "_watched")

    def __init__(self, channel: Channel, loop: Loop, watched: Waiting) -> None:
        self._channel = channel
        self._loop = loop
        self._watched: Waiting | None = watched
        self._timer: Timer | None = None
        self._is_queued = False

    def begin(self) -> None:
        """Wait for what the channel says: its request's deadline, the end of its throttling,
        memory, or a turn."""
        channel = self._channel
        deadline = channel.muted_until
        if channel.suspended is not None:
            deadline = channel.suspended.deadline
        if deadline == inf:
            if self._timer is not None:  # it may be that of an earlier wait
                self._timer.cancel()
        elif deadline:
            if self._timer is None:
                self._timer = Timer(self._deadline_passed)
            self._loop.set_timer(self._timer, deadline)
        elif not self._is_queued and not channel.reader.waits_for_memory:
            self.memory_granted()

    def memory_granted(self) -> None:
        """Go on in the next turn."""
        self._is_queued = True
        self.resume(None)

    def resume(self, suspended: SuspendedRequest | None) -> None:
        """Let the loop resume the connection soon: the wait of `suspended`, or a pause, is over."""
        if self._watched is not None:
            self._loop.resume(self._watched, suspended)

    def soon(self, function: Callable[[], None]) -> None:
        """Call a function in one of the loop's next turns."""
        self._loop.soon(function)

    def hang_up(self, error: Exception) -> None:
        """Let the connection end for this error, once what came before it is sent."""
        self._loop.soon(partial(self._hang_up, error))

    def _hang_up(self, error: Exception) -> None:
        if self._watched is not None:
            log_end(str(self._watched), error)
            self._watched.send_responses()
        if self._watched is not None:
            self._watched.abort(str(error))

    def is_over(self, suspended: SuspendedRequest | None) -> bool:
        """True if the wait that there is now is over; the loop's call may be for an earlier one."""
        if suspended is None:
            self._is_queued = False
            return self._channel.suspended is None
        return suspended is self._channel.suspended and suspended.is_over()

    def interrupt(self) -> None:
        """Go on with the request that waits, although its condition does not hold."""
        self._loop.joined_writes.settle()  # it may read
        channel = self._channel
        if channel.suspended is not None:
            channel.suspended.wake = WakeReason.INTERRUPTED
        channel.resume()

    def close(self) -> None:
        """Wait no longer, and let go of what the wait would keep alive."""
        self._watched = None
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _deadline_passed(self) -> None:
        suspended = self._channel.suspended
        if suspended is not None:
            suspended.wake = WakeReason.DEADLINE
        self.resume(suspended)
