"""Waits for the disk that a thread takes over, and steps of long work."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from threading import Lock
from typing import NamedTuple, TypeVar

T = TypeVar("T")

Waits = Generator["DiskWait", None, T]
"""Work that yields its waits, for a thread, and returns its result. A wait that was not called
before the work goes on is waited for there."""

Pieces = Generator[Callable[[], None] | None, None, T]
"""The same, for long work: a thread may call what it yields, and others may have their turn."""


class Step(NamedTuple):
    """The bytes read and written since the last step, and work to run before the next one.

    A thread may run it.
    """

    size_bytes: int = 0
    work: Callable[[], None] | None = None


def run_steps(steps: Iterator[Step]) -> None:
    """Take all steps in one go, and run their work."""
    for step in steps:
        if step.work is not None:
            step.work()


class DiskWait:
    """Work that several threads may call: the first does it, the others wait for its end. A call
    raises no OSError: `error` is the one that the work raised.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self.is_done = False
        self.error: OSError | None = None
        self._work = work
        self._lock = Lock()

    def __call__(self) -> None:
        with self._lock:
            if not self.is_done:
                try:
                    self._work()
                except OSError as error:
                    self.error = error
                self.is_done = True

    def finish(self) -> None:
        """Do the work unless it is done. Raises OSError if it did."""
        self()
        if self.error is not None:
            raise self.error


def waited_for(works: Iterable[Callable[[], None] | None]) -> Iterator[DiskWait | None]:
    """Each piece of work as a wait, one after the other. Raises OSError."""
    for work in works:
        if work is None:
            yield None
        else:
            wait = DiskWait(work)
            yield wait
            wait.finish()


def without_threads(waits: Pieces[T]) -> T:
    """The result of work that waits for the disk in this thread, in one go."""
    while True:
        try:
            next(waits)
        except StopIteration as done:
            result: T = done.value
            return result
