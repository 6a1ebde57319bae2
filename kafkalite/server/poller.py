"""One epoll for all connections, and one task that serves whatever is readable.

A connection's own task costs a trip through trio's scheduler, and a system call to wait again, for
every request. Most requests never wait for anything; these are received, answered and sent right
here, one connection after the other, and the connection's task sleeps on. It is woken for what does
wait: see connection.py.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.server.trio_epoll import trio_epoll

if TYPE_CHECKING:
    from kafkalite.requests.suspension import SuspendedRequest
    from kafkalite.server.connection import Connection

# Connections served before other tasks get their turn.
_SERVED_AT_ONCE: Final = 64
# Connections answered before the answers are sent.
_SENT_AT_ONCE: Final = 16
# How old what is known of trio's next deadline may get, in seconds: answering may bring one forward.
_LOOK_AGAIN_SECONDS: Final = 0.005
_LONGEST_SLEEP_SECONDS: Final = 60.0


class Poller:
    """Tells connections that there is something to read, while they are armed.

    A turn of trio's loop costs more than a request. A `patient` poller does the loop's sleeping itself:
    where no other task is runnable it waits for clients right here, and for whatever trio waits for, its
    next deadline included; then trio has its turn. That is for a loop that has nothing else to do than
    this broker, and for a trio whose descriptor can be found.
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._epoll = select.epoll()
        self._armed: dict[int, Connection] = {}
        self._patient = patient
        # Whether requests may wait here, and those of them that wait no longer.
        self.keeps_parked = False
        self._going_on: deque[SuspendedRequest] = deque()

    def arm(self, fileno: int, connection: Connection) -> None:
        """Call `connection.ready` as long as there is something to read, or the end."""
        self._epoll.register(fileno, select.EPOLLIN)
        self._armed[fileno] = connection

    def wait_for_room(self, fileno: int) -> None:
        """From now on call when there is room to write, or the end, instead."""
        self._epoll.modify(fileno, select.EPOLLOUT)

    def wait_for_input(self, fileno: int) -> None:
        """As after `arm`."""
        self._epoll.modify(fileno, select.EPOLLIN)

    def disarm(self, fileno: int) -> None:
        """No more calls; to be done before the socket is closed."""
        if self._armed.pop(fileno, None) is not None:
            self._epoll.unregister(fileno)

    def resume(self, parking: SuspendedRequest) -> None:
        """Answer a parked request soon."""
        self._going_on.append(parking)

    async def run(self) -> None:
        """Serve for ever."""
        others = trio_epoll() if self._patient else None
        if others is not None:
            await self._run_patiently(others)
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            served = ready = self._serve_ready()
            while ready and served < _SERVED_AT_ONCE:
                ready = self._serve_ready()
                served += ready

    async def _run_patiently(self, others: int) -> None:
        """Sleep for the whole loop; `others` is readable when trio has something to do."""
        runnable = _Runnable()
        trio.lowlevel.add_instrument(runnable)
        self._epoll.register(others, select.EPOLLIN)
        try:
            for _ in range(2):  # after which everybody has run who became runnable before
                await trio.lowlevel.checkpoint()
            self.keeps_parked = True
            while True:
                if runnable.tasks:
                    self._serve_ready()
                else:
                    self._serve_alone(runnable, others)
                await trio.lowlevel.checkpoint()
        finally:
            self.keeps_parked = False
            self._epoll.unregister(others)
            trio.lowlevel.remove_instrument(runnable)

    def _serve_alone(self, runnable: _Runnable, others: int) -> None:
        """Serve what is readable, and what will be, until there is something to do for anybody else."""
        poll = self._epoll.poll
        now = look_again = trio.current_time()
        sleep_seconds = _LOOK_AGAIN_SECONDS
        has_others = False
        if self._going_on:
            self._serve((), now)
        while not runnable.tasks and not has_others:
            if now >= look_again:
                left = trio.lowlevel.current_statistics().seconds_to_next_deadline
                if left <= 0:
                    return
                look_again = now + min(left, sleep_seconds)
            ready = poll(look_again - now, _SERVED_AT_ONCE)
            now = trio.current_time()
            if not ready:
                sleep_seconds = _LONGEST_SLEEP_SECONDS
                continue
            sleep_seconds = _LOOK_AGAIN_SECONDS
            look_again = min(look_again, now + _LOOK_AGAIN_SECONDS)
            self._serve(ready, now)
            has_others = others in dict(ready)

    def _serve_ready(self) -> int:
        """Serve what is readable; how many that were."""
        ready = self._epoll.poll(0, _SERVED_AT_ONCE)
        self._serve(ready, trio.current_time())
        return len(ready)

    def _serve(self, ready: Sequence[tuple[int, int]], now: float) -> None:
        """Answer the requests of all who are ready, and only then send, a few at a time.

        A client that sleeps on another core is woken by the first answer, which costs more than the
        request; for the next of its answers it is awake still, if they come soon enough.
        """
        armed, going_on = self._armed, self._going_on
        answered: list[Connection] = []
        for each, _ in ready:
            connection = armed.get(each)
            if connection is not None and connection.ready(now):
                answered.append(connection)
                if len(answered) == _SENT_AT_ONCE:
                    _send(answered)
        _send(answered)
        while going_on:
            parking = going_on.popleft()
            if parking.connection.resume(parking):
                answered.append(parking.connection)
                if len(answered) == _SENT_AT_ONCE:
                    _send(answered)
        _send(answered)

    def close(self) -> None:
        self._epoll.close()


def _send(answered: list[Connection]) -> None:
    for connection in answered:
        connection.send_answers()
    answered.clear()


class _Runnable(trio.abc.Instrument):
    """Knows the tasks that are to run."""

    def __init__(self) -> None:
        self.tasks: set[trio.lowlevel.Task] = set()

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        self.tasks.add(task)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.tasks.discard(task)
