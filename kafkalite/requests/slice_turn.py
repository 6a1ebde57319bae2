"""Tasks with long work take their slices in turn, first come first served.

There is one slice between two turns of the loop, and about as much time for the beginnings of work,
which may be all of it. So others wait for these alone, however many requests are long.
"""

from __future__ import annotations

from threading import local
from typing import Final

import trio


class _Undivided(local):
    """In effect while a thread may not wait: what is begun then is one slice."""

    is_on = False

    def __enter__(self) -> None:
        self.is_on = True

    def __exit__(self, *_: object) -> None:
        self.is_on = False


undivided: Final = _Undivided()


class SliceTurn:
    """The right to take a slice. A task gives it back before it waits for the disk."""

    def __init__(self) -> None:
        self._lock = trio.StrictFIFOLock()
        # Work may be begun until then; None once the loop has had its turn.
        self._begun_until: float | None = None

    def may_begin(self, now: float, seconds: float) -> bool:
        """True if a task may do a little without its turn: for so long between two turns of the
        loop."""
        if self._begun_until is None:
            self._begun_until = now + seconds
            trio.lowlevel.current_trio_token().run_sync_soon(self._let_begin)
        return now < self._begun_until

    def _let_begin(self) -> None:
        self._begun_until = None

    async def take(self) -> None:
        """Wait until no other task has it. It costs nothing where none does."""
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()

    async def let_others(self) -> None:
        """After a slice: keep it while the loop has its turn, unless another task waits for it.

        That one takes its slice after the loop's turn, too.
        """
        if not self._lock.statistics().tasks_waiting:
            await trio.lowlevel.checkpoint()

    def give_back(self) -> None:
        """Let the task have it that has waited longest."""
        self._lock.release()


_turn: Final = trio.lowlevel.RunVar[SliceTurn]("turn of long work")


def slice_turn() -> SliceTurn:
    """That of this run of trio."""
    try:
        return _turn.get()
    except LookupError:
        turn = SliceTurn()
        _turn.set(turn)
        return turn
