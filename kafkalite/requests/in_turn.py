"""Long changes, one after the other. Each waiting request advances the oldest change until its own
is done.

So a change needs no task. When the request that began it is gone, the next one finishes it first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from kafkalite.log.disk_wait import DiskWait
from kafkalite.requests.slices import WaitingSteps

T = TypeVar("T")


class Change(Generic[T]):
    """A change that is waiting or under way. `outcome` is there once `is_done`."""

    def __init__(self, steps: WaitingSteps[T]) -> None:
        self._steps = steps
        self._outcome: T
        self._failure: Exception | None = None
        self.is_done = False
        # True if some task takes it further.
        self.is_wanted = True
        # The disk is waited for before the next step.
        self._wait: DiskWait | None = None

    def advance(self) -> Callable[[], None] | None:
        """Take one step, or none while the disk is waited for; returns how to wait for it."""
        if self._wait is not None and not self._wait.is_done:
            return self._wait
        self._wait = None
        try:
            wait = next(self._steps)
            self._wait = None if wait is None else DiskWait(wait)
        except StopIteration as done:
            self._outcome = done.value
            self.is_done = True
        except Exception as failure:  # noqa: BLE001 - raised where the change was asked for
            self._failure = failure
            self.is_done = True
        return self._wait

    def outcome(self) -> T:
        """Return what the steps returned, or raise what they raised."""
        if self._failure is not None:
            raise self._failure
        return self._outcome


class InTurn:
    """The changes that wait for each other, oldest first."""

    def __init__(self) -> None:
        self._waiting: Final[deque[Change[Any]]] = deque()

    def do(self, steps: WaitingSteps[T]) -> WaitingSteps[T]:
        """A change after all that were asked for before. Raises what its steps raise."""
        change = Change(steps)
        self._waiting.append(change)
        try:
            while not change.is_done:
                yield self._advance()
        finally:
            change.is_wanted = False
        return change.outcome()

    def _advance(self) -> Callable[[], None] | None:
        oldest = self._waiting[0]
        wait = oldest.advance()
        if oldest.is_done:
            self._waiting.popleft()
        return wait

    def finish(self) -> WaitingSteps[None]:
        """Finish the oldest changes whose requests are gone."""
        while self._waiting and not self._waiting[0].is_wanted:
            yield self._advance()
