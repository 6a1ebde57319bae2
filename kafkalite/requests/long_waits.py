"""Waits for any of very many things: a change is noted at once, and looked at in slices.

In purgatory.py each change evaluates the condition of the request that waits. With thousands of
partitions that takes milliseconds, and a Produce to as many of them would do it thousands of times
in one turn of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from kafkalite.requests.context import RequestContext
from kafkalite.requests.purgatory import WakeReason, Watchers
from kafkalite.requests.slices import Steps, in_slices


class Changes:
    """Notes that something that it watches has changed."""

    __slots__ = ("have_come", "watchers")

    def __init__(self) -> None:
        self.have_come = False
        self.watchers = Watchers()

    def try_complete(self) -> None:
        """Something has changed: resume the task that waits for that."""
        if not self.have_come:
            self.have_come = True
            self.watchers.check_and_complete()


async def wait_in_slices(
    context: RequestContext,
    look: Callable[[], Steps[bool]],
    watched: Sequence[Watchers],
    deadline: float,
    *,
    answer_early: bool,
) -> WakeReason:
    """Wait until `look` tells that the condition holds, or as Connection.wait_until says.

    `look` is begun again for each change that came since it was begun last.
    """
    changes = Changes()
    try:
        for each in watched:
            each.add(changes)
        while True:
            changes.have_come = False
            if await in_slices(look(), context):
                return WakeReason.DONE
            if trio.current_time() >= deadline:
                return WakeReason.DEADLINE
            wake = await context.connection.wait_until(
                lambda: changes.have_come,
                (changes.watchers,),
                deadline,
                answer_early=answer_early,
            )
            if wake is not WakeReason.DONE:
                return wake
    finally:
        for each in watched:
            each.discard(changes)
