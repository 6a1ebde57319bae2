"""Drivers of the loop: trio as a guest of it, or the loop in a task of somebody's trio.

`Host.run` takes the place of `trio.run`. The host waits in epoll for sockets and for whatever trio
wants to be done, which trio says through an eventfd; between two turns of the loop it does that:
one step of each task that can go on. Trio runs nothing during a turn, so a handler cannot suspend a
task that is not its own.

Inside a trio that is not ours, `drive` does the same from a task. There each coroutine of a handler
gets a task from its beginning, as the loop's own must never sleep with it.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, cast

import trio

from kafkalite.log.loggers import lines_are_of_turns
from kafkalite.requests.disk_threads import NO_THREAD
from kafkalite.server.interest import Interest
from kafkalite.server.loop import Loop, host_time

if TYPE_CHECKING:
    from outcome import Outcome

    from kafkalite.requests.suspension import SuspendedRequest

T = TypeVar("T")
Args = TypeVarTuple("Args")


class NoThreadError(Exception):
    """Trio has no thread to wait in, and can start none."""

    def __str__(self) -> str:
        return "no thread can be started: the user, or the container, may have no more"


class Host:
    """One loop, and trio as its guest."""

    def __init__(self) -> None:
        self.loop = Loop(is_hosted=True)
        self._waker = _Waker()
        self._wanted: deque[Callable[[], object]] = deque()
        self._outcome: Outcome[Any] | None = None

    @trio.lowlevel.enable_ki_protection
    def run(
        self,
        function: Callable[[*Args], Awaitable[T]],
        *args: *Args,
    ) -> T:
        """Run the function as trio.run does. Raises what it raises."""
        loop, wanted = self.loop, self._wanted
        loop.watch(self._waker.fileno, self._waker, Interest.INPUT)
        trio.lowlevel.start_guest_run(
            function,
            *args,
            run_sync_soon_threadsafe=self._want_from_thread,
            run_sync_soon_not_threadsafe=wanted.append,
            done_callback=self._done,
            clock=_Clock(),
            # Trio calls the methods of an instrument that it finds.
            instruments=(cast("trio.abc.Instrument", loop.watchdog),),
        )
        lines_are_of_turns(loop)
        try:
            loop.serve_with_guest(wanted)
        except RuntimeError as error:
            if str(error) != NO_THREAD:
                raise
            # Trio's guest is left behind, which trio tells in words of its own.
            warnings.filterwarnings("ignore", message="Trio guest run got abandoned")
            raise NoThreadError from None
        finally:
            lines_are_of_turns(None)
        assert self._outcome is not None
        result: T = self._outcome.unwrap()
        return result

    def close(self) -> None:
        """After `run`, and after everything that watches something."""
        self.loop.close()
        self._waker.close()

    def _want_from_thread(self, function: Callable[[], object]) -> None:
        self._wanted.append(function)
        self._waker.wake()

    def _done(self, outcome: Outcome[Any]) -> None:
        self._outcome = outcome
        self.loop.is_over = True


class _Clock(trio.abc.Clock):
    """The clock of a guest: the loop asks it once in each turn, at the cost of one call."""

    def start_clock(self) -> None:
        """It always runs."""

    def current_time(self) -> float:
        return host_time()

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - host_time()


class _Waker:
    """An eventfd, which ends the sleep of a loop from any thread."""

    last_key = -1

    def __init__(self) -> None:
        self.fileno = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def wake(self) -> None:
        os.eventfd_write(self.fileno, 1)

    def ready(self, now: float) -> bool:
        os.eventfd_read(self.fileno)
        return False

    def resume(self, suspended: SuspendedRequest | None) -> bool:
        return False

    def send_responses(self) -> None:
        """There is nothing to send."""

    def close(self) -> None:
        os.close(self.fileno)


async def drive(loop: Loop) -> None:
    """Let a loop that is not hosted take its turns in this task, for ever."""
    while True:
        if loop.is_busy:
            await trio.lowlevel.checkpoint()
        else:
            with trio.CancelScope(deadline=loop.next_deadline) as nap:
                loop.wake = nap.cancel
                await trio.lowlevel.wait_readable(loop.fileno())
        loop.turn(loop.poll(0))
