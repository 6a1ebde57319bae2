"""A broker that is open and does not serve yet, for the next reset of its cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from kafkalite.control.core import Core
from kafkalite.server.listener import Listener

# The loop has this long for what was waiting before a spare is opened.
_AFTER_SECONDS: Final = 0.02


class Spare:
    """There is one, or none.

    `opening` gives a function that opens a broker, in a thread; None if there is to be no spare.
    """

    def __init__(self, opening: Callable[[], Callable[[], Core] | None]) -> None:
        self._opening = opening
        self._core: Core | None = None
        self._is_opening = False
        self._is_closed = False

    def take(self, listeners: list[Listener]) -> Core | None:
        """The spare, listening with these; None if there is none that knows their addresses."""
        spare, self._core = self._core, None
        if spare is None:
            return None
        if list(map(_address, spare.broker.listeners)) != list(map(_address, listeners)):
            spare.give_up()
            return None
        spare.broker.take_listeners(listeners)
        return spare

    def discard(self) -> None:
        """Let the spare go, if there is one."""
        if self._core is not None:
            self._core.give_up()
            self._core = None

    async def open(self) -> None:
        """Open a broker that a later reset can take, unless one is there or on its way."""
        if self._is_opening or self._core is not None:
            return
        self._is_opening = True
        try:
            await trio.sleep(_AFTER_SECONDS)
            open_it = self._opening()
            if open_it is not None:
                # Files are made, which may take longer than others can wait.
                self._core = await trio.to_thread.run_sync(open_it)
        finally:
            self._is_opening = False
        if self._is_closed:
            self.discard()

    def close(self) -> None:
        """Let the spare go, also one that is on its way."""
        self._is_closed = True
        self.discard()


def _address(listener: Listener) -> tuple[int, str, str, int]:
    return listener.node_id, listener.name, listener.advertised_host, listener.advertised_port
