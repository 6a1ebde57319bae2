"""A task that goes on after an error of its own: no background task ends the process."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 1.0


async def lasting(task: Callable[[], Awaitable[object]], name: str) -> None:
    """Run a task that is to run for ever; begin it anew, a second later, if it fails.

    Ends where the task returns, or is cancelled.
    """
    while True:
        try:
            await task()
            return
        except Exception:
            logger.exception("%s failed, and begins anew", name)
            await trio.sleep(_PAUSE_SECONDS)
