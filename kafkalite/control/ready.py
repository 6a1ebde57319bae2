"""One thing that is made before it is asked for, while nothing happens: there is one, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import trio

T = TypeVar("T")

# The loop has this long for what was waiting before something is made.
_AFTER_SECONDS: Final = 0.02


class Ready(Generic[T]):
    """`opening` returns a function that makes one, in a thread. There is none to be made if either
    returns None.

    `let_go` takes back one that is not wanted.
    """

    def __init__(
        self, opening: Callable[[], Callable[[], T | None] | None], let_go: Callable[[T], None]
    ) -> None:
        self._opening = opening
        self._let_go = let_go
        self._there: T | None = None
        # Set once the attempt under way has succeeded or failed; None if none is under way.
        self._opened: trio.Event | None = None
        self._is_refused = False
        self._is_closed = False

    @property
    def was_tried(self) -> bool:
        """Tells whether one is there, is on its way, or could not be made.

        One that could not be made is not tried again before the next one is asked for: a disk that
        is full would be told of again and again.
        """
        return self._opened is not None or self._there is not None or self._is_refused

    def take_if(self, fits: Callable[[T], bool]) -> T | None:
        """Take what is there if it fits. Otherwise it is let go, and None is returned."""
        taken, self._there = self._there, None
        self._is_refused = False
        if taken is None or fits(taken):
            return taken
        self._let_go(taken)
        return None

    async def give_way(self) -> bool:
        """Let it go, also one that is on its way; tells whether there was one."""
        if self._opened is not None:
            await self._opened.wait()
        return self.discard()

    def discard(self) -> bool:
        """Let it go; tells whether there was one."""
        there, self._there = self._there, None
        if there is not None:
            self._let_go(there)
        return there is not None

    async def open(self) -> None:
        """Make one for later, unless one is there or on its way."""
        if self.was_tried:
            return
        self._opened = opened = trio.Event()
        try:
            await trio.sleep(_AFTER_SECONDS)
            open_it = self._opening()
            if open_it is not None:
                # Files are made, which may take longer than others can wait.
                self._there = await trio.to_thread.run_sync(open_it)
            self._is_refused = self._there is None
        finally:
            self._opened = None
            opened.set()
        if self._is_closed:
            self.discard()

    def close(self) -> None:
        """Let it go, also one that is on its way."""
        self._is_closed = True
        self.discard()
