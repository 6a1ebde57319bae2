"""Changes of a large group, which a thread works out one after the other."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafkalite.requests.slices import in_slices

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.requests.slices import WaitingSteps

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Turns(Protocol):
    def of(self, key: str) -> AbstractAsyncContextManager[None]:
        """Wait until no other is in the block for this key."""
        ...


class Heartbeats(Protocol[A_co]):
    """The heartbeats of groups of one type (group_coordinator/large_groups.py)."""

    @property
    def turns(self) -> Turns: ...
    def heartbeat_in_steps(
        self, context: Any, row: Any, message: Any = None
    ) -> WaitingSteps[A_co]: ...


async def in_turn(
    heartbeats: Heartbeats[A_co], context: RequestContext, row: tuple[Any, ...], message: Any = None
) -> A_co:
    """The answer to a heartbeat that takes long. `message` is the row, if it was made already."""
    steps = heartbeats.heartbeat_in_steps(context, row, message)
    return await steps_in_turn(heartbeats.turns, row[0], steps, context)


async def steps_in_turn(
    turns: Turns, group_id: str, steps: WaitingSteps[A], context: RequestContext
) -> A:
    """The result of steps that change a large group."""
    await context.connection.move_to_task()
    async with turns.of(group_id):
        return await in_slices(steps, context)
