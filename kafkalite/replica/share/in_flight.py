"""Records in flight: delivered to a share group, or to be delivered again, and not done with.

    AVAILABLE     may be delivered
    ACQUIRED      is with a member, until its lock runs out
    ACKNOWLEDGED  was accepted
    ARCHIVED      was rejected, delivered too often, aborted, or is no longer in the log

A batch that was delivered as one stands as one, and is taken apart when its records begin to
differ. Source: KIP-932, Kafka's RecordState, InFlightState, InFlightBatch.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import Final

NO_MEMBER: Final = ""
NEVER: Final = math.inf


class RecordState(IntEnum):
    """Kafka's numbers, as they are in the log."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class RecordEvent(Enum):
    """Events of a record in flight; the values label the diagram's arrows."""

    ACQUIRE = "delivered to a member"
    ACCEPT = "accepted"
    RELEASE = "released, or the lock ran out"
    EXHAUST = "released after the last delivery it may have"
    REJECT = "rejected, or a gap"
    RENEW = "the lock begins anew"
    REMOVE = "aborted, or gone from the log"


State, Event = RecordState, RecordEvent

TRANSITIONS: Final[dict[RecordState, dict[RecordEvent, RecordState]]] = {
    State.AVAILABLE: {
        Event.ACQUIRE: State.ACQUIRED,
        Event.REMOVE: State.ARCHIVED,
    },
    State.ACQUIRED: {
        Event.ACCEPT: State.ACKNOWLEDGED,
        Event.RELEASE: State.AVAILABLE,
        Event.EXHAUST: State.ARCHIVED,
        Event.REJECT: State.ARCHIVED,
        Event.RENEW: State.ACQUIRED,
        Event.REMOVE: State.ARCHIVED,
    },
    State.ACKNOWLEDGED: {},
    State.ARCHIVED: {},
}


class Delivery:
    """The state of a record, or a batch of records that stand alike.

    `count` is how often it was delivered; `member_id` and `deadline` (seconds of the clock) say who
    has it and until when, while it is acquired.
    """

    __slots__ = ("count", "deadline", "member_id", "state")

    def __init__(
        self, state: RecordState, count: int, member_id: str = NO_MEMBER, deadline: float = NEVER
    ) -> None:
        self.state = state
        self.count = count
        self.member_id = member_id
        self.deadline = deadline

    def __repr__(self) -> str:
        return f"<{self.state.name} {self.count} {self.member_id or '-'}>"

    def copy(self) -> Delivery:
        return Delivery(self.state, self.count, self.member_id, self.deadline)

    def restore(self, old: Delivery) -> None:
        """Be again as `old` was copied."""
        self.state, self.count = old.state, old.count
        self.member_id, self.deadline = old.member_id, old.deadline

    def on(self, event: RecordEvent) -> None:
        """Change state as TRANSITIONS says; refuses (KeyError) what is not in it."""
        self.state = TRANSITIONS[self.state][event]
        if self.state is not State.ACQUIRED:
            self.member_id, self.deadline = NO_MEMBER, NEVER

    def acquire(self, member_id: str, deadline: float) -> None:
        self.on(Event.ACQUIRE)
        self.count += 1
        self.member_id, self.deadline = member_id, deadline

    def renew(self, deadline: float) -> None:
        self.on(Event.RENEW)
        self.deadline = deadline

    @property
    def is_with_member(self) -> bool:
        return self.state is State.ACQUIRED and self.member_id != NO_MEMBER

    def let_go(self) -> None:
        """Have no member and no deadline; it becomes available later."""
        self.member_id, self.deadline = NO_MEMBER, NEVER


class InFlightBatch:
    """Records from `first_offset` to `last_offset`: `whole` while they stand alike, else `each`."""

    __slots__ = ("each", "first_offset", "last_offset", "whole")

    def __init__(self, first_offset: int, last_offset: int, whole: Delivery) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.whole: Delivery | None = whole
        self.each: list[Delivery] = []

    def __repr__(self) -> str:
        return f"<{self.first_offset}-{self.last_offset} {self.whole or self.each}>"

    def __len__(self) -> int:
        return self.last_offset - self.first_offset + 1

    def take_apart(self) -> list[Delivery]:
        """Every record's own delivery from now on."""
        if self.whole is not None:
            self.each = [self.whole.copy() for _ in range(len(self))]
            self.whole = None
        return self.each

    def at(self, offset: int) -> Delivery:
        return self.each[offset - self.first_offset] if self.whole is None else self.whole

    def between(self, first_offset: int, last_offset: int) -> Iterator[tuple[int, Delivery]]:
        """Offsets and deliveries of a batch that was taken apart, within these bounds."""
        start = max(first_offset, self.first_offset)
        for offset in range(start, min(last_offset, self.last_offset) + 1):
            yield offset, self.each[offset - self.first_offset]

    def is_within(self, first_offset: int, last_offset: int) -> bool:
        return self.first_offset >= first_offset and self.last_offset <= last_offset

    def runs(self) -> Iterator[tuple[int, int, Delivery]]:
        """First and last offsets, and how they stand: the whole, or each record."""
        if self.whole is not None:
            yield self.first_offset, self.last_offset, self.whole
        else:
            for index, delivery in enumerate(self.each):
                yield self.first_offset + index, self.first_offset + index, delivery


class InFlightBatches:
    """Batches in the order of their offsets, none over another."""

    __slots__ = ("_batches", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[InFlightBatch] = []

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter(self._batches)

    @property
    def first(self) -> InFlightBatch:
        return self._batches[0]

    @property
    def last(self) -> InFlightBatch:
        return self._batches[-1]

    def add(self, batch: InFlightBatch) -> None:
        """Put a batch in its place; one that begins at the same offset is forgotten.

        Such a one is empty: who asks for no records as one batch acquires one of none first.
        """
        index = bisect_left(self._firsts, batch.first_offset)
        if index < len(self._firsts) and self._firsts[index] == batch.first_offset:
            self._batches[index] = batch
            return
        self._firsts.insert(index, batch.first_offset)
        self._batches.insert(index, batch)

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that begins at or before `offset`."""
        index = bisect_right(self._firsts, offset)
        return self._batches[index - 1] if index else None

    def after(self, offset: int) -> InFlightBatch | None:
        """The first batch that begins after `offset`."""
        index = bisect_right(self._firsts, offset)
        return self._batches[index] if index < len(self._batches) else None

    def beginning_in(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """The batches that begin within these bounds, both included."""
        start = bisect_left(self._firsts, first_offset)
        return self._batches[start : bisect_right(self._firsts, last_offset)]

    def remove_before(self, batch: InFlightBatch) -> None:
        """Forget all batches before this one."""
        index = bisect_left(self._firsts, batch.first_offset)
        del self._firsts[:index]
        del self._batches[:index]

    def clear(self) -> None:
        self._firsts.clear()
        self._batches.clear()
