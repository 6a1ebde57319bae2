"""How a handler stops in the middle: what it yields to the poller, and how its task goes on with it.

Handlers are coroutines, and the poller runs them without a task, up to the first thing that they have to
wait for. That is one of two:

    NEEDS_TASK     the connection's task is to go on; there the handler may await whatever it likes
    a SuspendedRequest    nothing is to go on until the condition holds: the poller keeps the handler as it is
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, cast

from kafkalite.requests.purgatory import WakeReason, Watchers
from kafkalite.wire.fields import Records

if TYPE_CHECKING:
    from kafkalite.server.connection import Connection
    from kafkalite.server.poller import Poller

NEEDS_TASK: Final = object()

ResponseCoroutine = Coroutine[Any, Any, list[Records]]


class SuspendedRequest:
    """One request that waits in the poller, and what it waits for."""

    __slots__ = ("_done", "_is_over", "_poller", "answer_early", "connection", "deadline", "wake")

    def __init__(
        self,
        connection: Connection,
        poller: Poller,
        done: Callable[[], bool],
        deadline: float,
        *,
        answer_early: bool,
    ) -> None:
        self.connection = connection
        self.deadline = deadline
        self.answer_early = answer_early
        # Why it goes on if what it waited for is not there; None: to wait in the connection's task.
        self.wake: WakeReason | None = None
        self._poller = poller
        self._done = done
        self._is_over = False

    def try_complete(self) -> None:
        if not self._is_over and self._done():
            self._is_over = True
            self._poller.resume(self)

    async def wait(self, watched: Iterable[Watchers]) -> WakeReason | None:
        """Until the poller, or the connection's task, goes on with the handler."""
        if self._done():
            return WakeReason.DONE
        watched = tuple(watched)
        for watchers in watched:
            watchers.add(self)
        try:
            await _stop(self)
        finally:
            self._is_over = True
            for watchers in watched:
                watchers.discard(self)
        return WakeReason.DONE if self._done() else self.wake


async def move_to_task() -> None:
    """Go on in the connection's task."""
    await _stop(NEEDS_TASK)


@coroutine
def _stop(wanted: object) -> Generator[object, None, None]:
    yield wanted


@coroutine
def continued(handling: ResponseCoroutine) -> Generator[Any, Any, list[Records]]:
    """Go on with what the poller began, in the task that awaits this."""
    generator = cast("Generator[Any, Any, list[Records]]", handling)
    return (yield from generator)
