"""Coordinators load the partitions they are elected for, one after the other, in slices.

Their clients hear COORDINATOR_LOAD_IN_PROGRESS meanwhile, and others are served. A broker that is
alone loads at once whatever is quick, so that its clients rarely hear it. Requests of the same
process for share states wait, as those of other processes are sent again (share_state_requests.py):
members and tools would take a refusal for an error, or for no offset. Source: CoordinatorRuntime's
scheduleLoadOperation, PersisterStateManager.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import Final, Protocol

import trio

from kafkalite.requests.slices import WaitingSteps, in_slices_of_task

# A broker that is alone lets its clients wait so long for all that is to be loaded; what is left is
# loaded beside them.
PROMPT_SECONDS: Final = 0.2
# A partition is loaded at once if that takes no longer, however much was loaded before.
_LEAST_SECONDS: Final = 0.002
# The longest wait for what is being loaded; a refusal comes after it.
_PATIENCE_SECONDS: Final = 15.0
_PAUSE_SECONDS: Final = 0.01


class Loader:
    """The partitions that wait to be loaded; `run` is its task.

    With `prompt_seconds`, partitions are loaded at once until that time is used up.
    """

    def __init__(self, prompt_seconds: float = 0.0) -> None:
        self._send, self._receive = trio.open_memory_channel[WaitingSteps[None]](inf)
        self._is_prompt = prompt_seconds > 0
        self._prompt_seconds = prompt_seconds

    def load(self, steps: WaitingSteps[None]) -> None:
        """Take these steps at once, or after those of partitions that wait already."""
        if not (self._is_prompt and self._loaded_promptly(steps)):
            self._send.send_nowait(steps)

    def _loaded_promptly(self, steps: WaitingSteps[None]) -> bool:
        began = monotonic()
        most_seconds = max(self._prompt_seconds, _LEAST_SECONDS)
        for wait in steps:
            if wait is not None:
                wait()
            if monotonic() - began > most_seconds:
                self._prompt_seconds = 0.0
                return False
        self._prompt_seconds -= monotonic() - began
        return True

    async def run(self) -> None:
        """Load for ever."""
        async for steps in self._receive:
            await in_slices_of_task(steps)


class Loaded(Protocol):
    """One whose state is loaded: to ask `is_loading` begins what is due."""

    @property
    def is_loading(self) -> bool: ...


class Loading:
    """The loading of these states, as requests of the same process see it."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    @property
    def is_under_way(self) -> bool:
        """True if something cannot be asked for yet; begins to load what is due."""
        return self._loaded.is_loading

    async def ended(self) -> None:
        """Wait in a task until nothing is being loaded, or for as long as is worth it."""
        until = trio.current_time() + _PATIENCE_SECONDS
        while True:
            if not self._loaded.is_loading or trio.current_time() > until:
                return
            await trio.sleep(_PAUSE_SECONDS)
