"""Waits for what another request answers: with thousands of members, a group answers them at once.

They wait in the loop, which answers few or many in a turn. In tasks, all of them would go on in one
step of trio's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.purgatory import WakeReason, Watchers

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Parked(Protocol[T_co]):
    """A request that is answered now or later (group_coordinator/pending_response.py)."""

    @property
    def is_answered(self) -> bool: ...
    @property
    def response_now(self) -> T_co: ...
    def when_answered(self, call: Callable[[], None]) -> None: ...


async def response_of(parked: Parked[T], context: RequestContext) -> T:
    """The response, once it is there. Raises CloseConnection when the broker stops before."""
    if not parked.is_answered:
        watchers = Watchers()
        parked.when_answered(watchers.check_and_complete)
        wake = await context.connection.wait_until(
            lambda: parked.is_answered, (watchers,), inf, answer_early=False
        )
        if wake is not WakeReason.DONE:
            raise CloseConnection("the broker stops", is_told=True)
    return parked.response_now
