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


class Poller:
    """Tells connections that there is something to read, while they are armed."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._armed: dict[int, Connection] = {}

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
        while True:
            await trio.lowlevel.wait_readable(fileno)
            now = trio.current_time()
            served = 0
            # While some were served, others have become readable: no need to wait for those.
            while served < _SERVED_AT_ONCE and (ready := self._epoll.poll(0, _SERVED_AT_ONCE)):
                served += len(ready)
                for each, _ in ready:
                    connection = self._armed.get(each)
                    if connection is not None:
                        connection.readable(now)

    def close(self) -> None:
        self._epoll.close()
