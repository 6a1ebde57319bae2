"""Waits of a request whose coroutine is stepped without a task.

The loop steps a response coroutine itself, up to the first thing that it has to wait for. The
coroutine yields one of three to the loop, by the functions of this module:

    Step.NEEDS_TASK     go on in a task, where the coroutine may await anything of trio's
    Step.YIELDS_TURN    go on after other connections, and trio, had their turn
    a SuspendedRequest  go on when a condition holds, at a deadline, or when more input comes
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable
from enum import Enum
from types import coroutine
from typing import Any, cast

from kafkalite.requests.purgatory import WakeReason, Watchers
from kafkalite.wire.fields import Records

ResponseCoroutine = Coroutine[Any, Any, list[Records]]


def has_to_wait(response: object) -> bool:
    """True if a handler returned a coroutine of its response; a compiled one has a type of its own.

    Rows are most of what is returned, and a tuple is told quickest; only a coroutine has `send`.
    """
    return type(response) is not tuple and hasattr(response, "send")


class Step(Enum):
    """Requests of a coroutine to the loop."""

    NEEDS_TASK = "go on in a task"
    YIELDS_TURN = "go on after the others"


class SuspendedRequest:
    """One request that waits in the loop, and its condition.

    `deadline` is in seconds of trio's clock. `resume` asks the loop to look, soon, whether the wait
    `is_over`. With `answer_early`, more input from the client ends the wait.
    """

    __slots__ = ("_done", "_is_looked_at", "_resume", "answer_early", "deadline", "wake")

    def __init__(
        self,
        done: Callable[[], bool],
        deadline: float,
        resume: Callable[[SuspendedRequest], None],
        *,
        answer_early: bool,
    ) -> None:
        self.deadline = deadline
        self.answer_early = answer_early
        # The reason to go on; None: wait on in a task.
        self.wake: WakeReason | None = None
        self._done = done
        self._resume: Callable[[SuspendedRequest], None] | None = resume
        # Changes that come before the loop has looked are one to it.
        self._is_looked_at = False

    def try_complete(self) -> None:
        """Ask the loop to go on with the request if its condition holds."""
        if self._resume is not None and not self._is_looked_at:
            self._is_looked_at = True
            self._resume(self)

    def is_over(self) -> bool:
        """True if the request is to go on: its condition holds, or `wake` says why else."""
        self._is_looked_at = False
        if self._done():
            self.wake = WakeReason.DONE
        return self.wake is not None

    async def wait(self, watched: Iterable[Watchers]) -> WakeReason | None:
        """Wait until the loop resumes the coroutine; None: it was resumed in a task before."""
        if self._done():
            return WakeReason.DONE
        watched = tuple(watched)
        for watchers in watched:
            watchers.add(self)
        try:
            await _stop(self)
        finally:
            self._resume = None
            for watchers in watched:
                watchers.discard(self)
        if self.wake is WakeReason.DONE or self._done():
            return WakeReason.DONE
        return self.wake


async def move_to_task() -> None:
    """Go on in a task of the connection's."""
    await _stop(Step.NEEDS_TASK)


async def yield_turn() -> None:
    """Go on after others had their turn."""
    await _stop(Step.YIELDS_TURN)


@coroutine
def _stop(wanted: object) -> Generator[object, None, None]:
    yield wanted


@coroutine
def continued(response: ResponseCoroutine) -> Generator[Any, Any, list[Records]]:
    """Go on with a coroutine, begun by the loop or not at all, in the task that awaits this."""
    generator = cast("Generator[Any, Any, list[Records]]", response)
    return (yield from generator)
