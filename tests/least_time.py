"""The time that work takes when nothing comes between: the collector, or another process."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time


def least_seconds(work: Callable[[], object]) -> float:
    """The least of three, in the thread's own seconds."""
    return min(_seconds(work) for _ in range(3))


def _seconds(work: Callable[[], object]) -> float:
    began = thread_time()
    work()
    return thread_time() - began
