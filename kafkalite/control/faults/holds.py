"""Requests that are held until somebody releases them."""

from __future__ import annotations

from collections.abc import Callable

import trio

from kafkalite.control.faults.book import RuleState
from kafkalite.requests.request_memory import give_back


class Holds:
    """Says what is held, by rule. Removing a rule releases what it holds."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[trio.Event]] = {}
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call `changed` after a request was held or let go."""
        self._subscribers.append(changed)

    def unsubscribe(self, changed: Callable[[], None]) -> None:
        """Call it no more."""
        self._subscribers.remove(changed)

    async def hold(self, state: RuleState, connection: object) -> None:
        """Wait until the rule's requests are released, this one among them."""
        released = trio.Event()
        self._waiting.setdefault(state.rule.id, []).append(released)
        state.held += 1
        self._tell()
        give_back()
        try:
            await released.wait()
        finally:
            state.held -= 1
            waiting = self._waiting.get(state.rule.id, [])
            if released in waiting:
                waiting.remove(released)
            self._tell()

    def release(self, rule_id: str, count: int | None = None) -> int:
        """Let those that waited longest go, all unless told how many; how many they were."""
        waiting = self._waiting.get(rule_id, [])
        going, self._waiting[rule_id] = (
            (waiting, []) if count is None else (waiting[:count], waiting[count:])
        )
        for released in going:
            released.set()
        return len(going)

    def release_all(self) -> None:
        """Let everything go."""
        for rule_id in list(self._waiting):
            self.release(rule_id)

    def _tell(self) -> None:
        for changed in tuple(self._subscribers):
            changed()
