"""A verb that a fault does, in a task of its cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kafkalite.requests.purgatory import Watchers


class Doing:
    """A verb on its way. It goes on where it cuts the connection of the request that it is for."""

    def __init__(self) -> None:
        self.watchers = Watchers()
        self.failure: Exception | None = None
        self._is_over = False

    def is_over(self) -> bool:
        """Tells whether it is done, or has failed."""
        return self._is_over

    async def run(self, verb: Callable[[], Awaitable[None]]) -> None:
        """Do it. What it raises is its failure."""
        try:
            await verb()
        except Exception as error:  # noqa: BLE001 - told, and raised where somebody waits
            self.failure = error
        finally:
            self._is_over = True
            self.watchers.check_and_complete()
