"""Memory that work in steps gives back: to free a million objects takes a tenth of a second."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any


def most_freed(steps: Generator[Any, None, Any]) -> int:
    """The largest number of objects that one step, or the end, has freed."""
    most, before = 0, sys.getallocatedblocks()
    is_over = False
    while not is_over:
        try:
            next(steps)
        except StopIteration as done:
            result = done.value  # alive: it is the caller's
            is_over = True
        after = sys.getallocatedblocks()
        most, before = max(most, before - after), after
    del result
    return most
