"""The lag of the event loop: a task that holds it up delays every client by as much."""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.metrics.readings import Distribution

_INTERVAL_SECONDS: Final = 0.1


async def watch(lag: Distribution) -> None:
    """Sleep for ever, and note by how much each awakening came late."""
    while True:
        due = trio.current_time() + _INTERVAL_SECONDS
        await trio.sleep_until(due)
        lag.add(max(0.0, trio.current_time() - due))
