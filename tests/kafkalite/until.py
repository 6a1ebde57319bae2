"""Waiting for what no event tells: work of threads, of the background, of other processes."""

from __future__ import annotations

from collections.abc import Callable

import trio

# Nothing takes as long, however busy the machine is.
PATIENCE_SECONDS = 60


async def until(condition: Callable[[], object]) -> None:
    """Return once it is so. Raises trio.TooSlowError."""
    with trio.fail_after(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - no event tells
            await trio.sleep(0.01)
