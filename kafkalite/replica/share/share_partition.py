"""A share partition: how far a share group is with a partition, and which records are in flight.

    start offset              next fetch offset         end offset
        |                            |                       |
    ----+----------------------------+-----------------------+------------- the log
        done with before      released: to be delivered      never delivered behind
              <-------- in flight, at most partition.max.record.locks ------>

Everything here is a plain function. What is decided is written to the share group's state first,
and taken back if that fails. Source: KIP-932, Kafka's SharePartition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from kafkalite.group_coordinator.timers import NEVER
from kafkalite.replica.share.in_flight import (
    Delivery,
    InFlightBatch,
    InFlightBatches,
    RecordEvent,
    RecordState,
)
from kafkalite.replica.share.state_batch import StateBatch


@dataclass(frozen=True, slots=True)
class SharePartitionKey:
    """The group and the partition."""

    group_id: str
    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The limits of a share group, as it or the broker is configured."""

    record_lock_duration_seconds: float = 30.0
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2000
    renew_acknowledge_enable: bool = True


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """The state as written: start offset, records done with after it, and changes."""

    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class StateWriter(Protocol):
    """Makes an update of one share partition durable. Raises KafkaError."""

    def __call__(self, update: StateUpdate) -> None: ...


@dataclass(slots=True)
class GapWindow:
    """Offsets up to `end_offset` of which the stored state says nothing."""

    end_offset: int
    gap_start_offset: int


class SharePartition:
    """`clock` gives seconds. `write` is called before anything is answered.

    `records_available` is called when records may be delivered (again) that could not be before.
    """

    def __init__(
        self,
        key: SharePartitionKey,
        *,
        limits: Callable[[], ShareLimits],
        clock: Callable[[], float],
        write: StateWriter,
        records_available: Callable[[], None] = lambda: None,
    ) -> None:
        self.key = key
        self.limits = limits
        self.clock = clock
        self.batches = InFlightBatches()
        self.start_offset = 0
        self.end_offset = 0
        self.delivery_complete_count = 0
        """Records at or after the start offset that are done with."""
        self.must_look_back = False
        """There may be records in flight that are available."""
        self.looked_at: int | None = None
        """The next offset at which a fetch last looked at the log."""
        self.gap: GapWindow | None = None
        self.is_fenced = False
        """The state belongs to somebody else now, or is gone."""
        self.lock_timeout_count = 0
        """Records whose lock ran out."""
        self.write = write
        self.records_available = records_available

    def load(self, start_offset: int, stored: Sequence[StateBatch]) -> None:
        """Begin with what was stored. Raises ValueError for what cannot be."""
        self.start_offset = start_offset
        gap_start_offset = -1
        previous_last_offset = start_offset - 1
        for batch in stored:
            if batch.first_offset < start_offset or batch.last_offset < batch.first_offset:
                raise ValueError(f"the state of {self.key} holds {batch}")
            if gap_start_offset == -1 and batch.first_offset > previous_last_offset + 1:
                gap_start_offset = previous_last_offset + 1
            previous_last_offset = batch.last_offset
            state = RecordState(batch.delivery_state)
            delivery = Delivery(state, batch.delivery_count)
            self.batches.add(InFlightBatch(batch.first_offset, batch.last_offset, delivery))
            if state.is_final:
                self.delivery_complete_count += batch.record_count
        if not stored:
            self.end_offset = start_offset
            return
        self.must_look_back = True
        self.end_offset = self.batches.last.last_offset
        if gap_start_offset != -1:
            self.gap = GapWindow(self.end_offset, gap_start_offset)
        self.move_start()

    # The next offset

    @property
    def in_flight_count(self) -> int:
        return self.end_offset - self.start_offset + 1 if self.batches else 0

    @property
    def can_acquire(self) -> bool:
        """True if there may be something to deliver, and it may be delivered."""
        if self.is_fenced:
            return False
        if self.next_fetch_offset() != self.end_offset + 1:
            return True
        return self.in_flight_count < self.limits().partition_max_record_locks

    def active_gap(self) -> GapWindow | None:
        gap = self.gap
        return gap if gap is not None and gap.end_offset == self.end_offset else None

    def move_gap_start(self, offset: int) -> None:
        gap = self.gap
        if gap is None:
            return
        if gap.end_offset == self.end_offset and offset <= gap.end_offset:
            gap.gap_start_offset = offset
        else:
            self.gap = None

    @property
    def _is_fresh(self) -> bool:
        return not self.batches or self.start_offset > self.batches.last.last_offset

    def next_fetch_offset(self) -> int:
        """The offset to read next: the first available record, or what follows the last."""
        if self._is_fresh:
            self.must_look_back = False
            return self.end_offset
        if not self.must_look_back:
            return self.end_offset + 1
        found = self._first_available()
        if found is None:
            self.must_look_back = False
            return self.end_offset + 1
        return found

    def look(self) -> bool:
        """A fetch looks for records at the next offset; True if none has done so before."""
        offset = self.next_fetch_offset()
        is_new = self.looked_at != offset
        self.looked_at = offset
        return is_new

    def _first_available(self) -> int | None:
        gap = self.active_gap()
        gap_start_offset = -1 if gap is None else gap.gap_start_offset
        for batch in self.batches:
            if gap is not None:
                if batch.first_offset > gap_start_offset:
                    return gap_start_offset
                gap_start_offset = max(batch.last_offset + 1, gap_start_offset)
            for first_offset, _, delivery in batch.runs():
                if delivery.state is RecordState.AVAILABLE:
                    return first_offset
        return None

    def reach(self, offset: int, count: int) -> int:
        """The last offset to read so that `count` records from `offset` on can be acquired."""
        for batch in self.batches:
            if batch.last_offset < offset:
                continue
            # Records between batches in flight may be new.
            count -= max(0, batch.first_offset - offset)
            if count <= 0:
                return batch.first_offset + count - 1
            for first_offset, last_offset, delivery in batch.runs():
                if delivery.state is RecordState.AVAILABLE and last_offset >= offset:
                    count -= last_offset - max(first_offset, offset) + 1
                    if count <= 0:
                        return last_offset + count
            offset = max(offset, batch.last_offset + 1)
        return offset + count - 1

    # Finished records

    def terminal_count(self, first_offset: int, last_offset: int) -> int:
        """The number of these offsets that are not before the start offset."""
        return max(0, last_offset - max(self.start_offset, first_offset) + 1)

    def move_start(self) -> bool:
        """Move the start offset past what is done with; True if it moved."""
        if not self._can_move_start():
            return False
        last_done, done_count = self._last_done()
        if last_done == -1:
            return False
        last = self.batches.last
        if last_done == last.last_offset:
            self.start_offset = self.end_offset = last.last_offset + 1
            self.batches.clear()
            self.delivery_complete_count = 0
            return True
        batch = self.batches.floor(last_done)
        assert batch is not None
        if last_done == batch.last_offset:
            following = self.batches.after(last_done)
            assert following is not None
            self.start_offset = max(self.start_offset, following.first_offset)
            gap = self.active_gap()
            if gap is not None:
                self.start_offset = min(gap.gap_start_offset, self.start_offset)
            self.batches.remove_before(following)
        else:
            self.start_offset = max(self.start_offset, last_done + 1)
            self.batches.remove_before(batch)
        self.delivery_complete_count -= done_count
        return True

    def _can_move_start(self) -> bool:
        if not self.batches:
            return False
        batch = self.batches.floor(self.start_offset)
        if batch is None:
            return False  # a gap at the beginning, which is to be delivered yet
        if batch.whole is None and batch.last_offset < self.start_offset:
            return False  # Apache Kafka looks in vain for the offset in a batch taken apart
        return batch.at(min(self.start_offset, batch.last_offset)).state.is_final

    def _last_done(self) -> tuple[int, int]:
        """The last offset up to which all is done with, -1 for none; and how many that are."""
        last_done, count = -1, 0
        gap = self.active_gap()
        for batch in self.batches:
            if gap is not None and batch.last_offset >= gap.gap_start_offset:
                return last_done, count
            for first_offset, last_offset, delivery in batch.runs():
                if not delivery.state.is_final:
                    return last_done, count
                last_done = last_offset
                count += self.terminal_count(first_offset, last_offset)
        return last_done, count

    def log_start_moved(self, log_start_offset: int) -> None:
        """Records before this offset are gone from the log, and so done with."""
        if log_start_offset <= self.start_offset:
            return
        if not self.batches:
            self.start_offset = self.end_offset = log_start_offset
            self.delivery_complete_count = 0
            return
        removed = self._final_before(log_start_offset)
        if self.remove(self.start_offset, log_start_offset, list(self.batches), counted=False):
            self.must_look_back = True
        self.start_offset = log_start_offset
        self.delivery_complete_count -= removed
        self.end_offset = max(self.end_offset, self.start_offset)

    def _final_before(self, end_offset: int) -> int:
        """The number of records from the start offset to before `end_offset` that are done with."""
        return sum(
            self.terminal_count(first_offset, min(last_offset, end_offset - 1))
            for batch in self.batches.beginning_in(0, end_offset - 1)
            for first_offset, last_offset, delivery in batch.runs()
            if delivery.state.is_final
        )

    def remove(
        self,
        first_offset: int,
        end_offset: int,
        batches: Sequence[InFlightBatch],
        *,
        counted: bool,
        state: RecordState = RecordState.AVAILABLE,
    ) -> bool:
        """Archive the records in `state` from `first_offset` to before `end_offset`; True if there
        were any. `counted`: the start offset stays, so that they count as done with after it."""
        removed = 0
        for batch in batches:
            if batch.first_offset >= end_offset:
                break
            whole = batch.whole
            if whole is not None and whole.state is not state:
                continue
            if whole is not None and batch.is_within(first_offset, end_offset - 1):
                whole.on(RecordEvent.REMOVE)
                removed += len(batch)
                continue
            batch.take_apart()
            for _, delivery in batch.between(first_offset, end_offset - 1):
                if delivery.state is state:
                    delivery.on(RecordEvent.REMOVE)
                    removed += 1
        if counted:
            self.delivery_complete_count += removed
        return removed > 0

    # Writing

    def update(self, batches: Sequence[StateBatch]) -> StateUpdate:
        return StateUpdate(self.start_offset, self.delivery_complete_count, batches)

    def lock_deadline(self) -> float:
        """The end of a lock acquired now, on the clock's scale."""
        return self.clock() + self.limits().record_lock_duration_seconds

    def next_deadline(self) -> float:
        """The end of the first lock, on the clock's scale."""
        return min(
            (delivery.deadline for batch in self.batches for _, _, delivery in batch.runs()),
            default=NEVER,
        )
