"""One epoll for all connections, and one task that serves whatever is readable.

A connection's own task costs a trip through trio's scheduler, and a system call to wait again, for
every request. Most requests never wait for anything; these are received, answered and sent right
here, one connection after the other, and the connection's task sleeps on. It is woken for what does
wait: see connection.py.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from kafkalite.connection import Connection

# Connections served before other tasks get their turn.
_SERVED_AT_ONCE: Final = 64
# How long the loop may be held for the next request, in seconds: the shortest that epoll knows.
_PATIENCE: Final = 0.001


class Poller:
    """Tells connections that there is something to read, while they are armed.

    A client that sends its next request when it has the answer is back within a fraction of what a
    turn of trio's loop takes. A `patient` poller waits for it right here, unless any other task has
    become runnable meanwhile. Timers and new connections may then be late by a millisecond, which is
    for a loop that has nothing else to do than this broker.
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._epoll = select.epoll()
        self._armed: dict[int, Connection] = {}
        self._patient = patient

    def arm(self, fileno: int, connection: Connection) -> None:
        """Call `connection.readable` as long as there is something to read, or the end."""
        self._epoll.register(fileno, select.EPOLLIN)
        self._armed[fileno] = connection

    def disarm(self, fileno: int) -> None:
        """No more calls; to be done before the socket is closed."""
        if self._armed.pop(fileno, None) is not None:
            self._epoll.unregister(fileno)

    async def run(self) -> None:
        """Serve for ever."""
        fileno = self._epoll.fileno()
        scheduled = _Scheduled()
        if self._patient:
            trio.lowlevel.add_instrument(scheduled)
        try:
            while True:
                scheduled.count = 0
                await trio.lowlevel.wait_readable(fileno)
                # If more than this task was woken, they are to run now.
                self._serve(scheduled if self._patient and scheduled.is_alone else None)
        finally:
            if self._patient:
                trio.lowlevel.remove_instrument(scheduled)

    def _serve(self, scheduled: _Scheduled | None) -> None:
        """Serve what is readable, and while `scheduled` counts nobody else, what is soon."""
        poll, armed = self._epoll.poll, self._armed
        served = 0
        while served < _SERVED_AT_ONCE:
            # While some were served, others have become readable: no need to wait for those.
            is_alone = scheduled is not None and scheduled.is_alone
            ready = poll(_PATIENCE if is_alone else 0, _SERVED_AT_ONCE)
            if not ready:
                return
            served += len(ready)
            now = trio.current_time()
            for each, _ in ready:
                connection = armed.get(each)
                if connection is not None:
                    connection.readable(now)

    def close(self) -> None:
        self._epoll.close()


class _Scheduled(trio.abc.Instrument):
    """Counts the tasks that became runnable."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def is_alone(self) -> bool:
        """Whether only one did: the one that asks."""
        return self.count == 1

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        self.count += 1
