"""Acknowledging records: accepted, released, rejected, renewed; by their member, its going, or
time.

All of one call is done, or nothing of it but renewals: what changes is written first, and taken
back when something is wrong with a later part, or with the disk. Then it counts: what was released
is available, and the start offset moves. In Apache Kafka that is when the share coordinator has
answered, and a ShareFetch that the acknowledgements came with has looked for records before.
Source: Kafka's SharePartition.acknowledge, releaseAcquiredRecords,
releaseAcquisitionLockOnTimeout, rollbackOrProcessStateUpdates; KIP-932, KIP-1222.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kafkalite.replica.share.in_flight import Delivery, InFlightBatch, RecordEvent, RecordState
from kafkalite.replica.share.share_partition import ShareLimits, SharePartition
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.requests.slices import Steps, at_once
from kafkalite.wire.errors import ErrorCode, KafkaError

LOCKS_AT_ONCE: Final = 64
"""The locks that may end in one turn of the loop: each of them is an update of its own."""


class AcknowledgeType(IntEnum):
    """A member's verdict on a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_EVENTS: Final[Mapping[int, RecordEvent]] = {
    AcknowledgeType.GAP: RecordEvent.REJECT,
    AcknowledgeType.ACCEPT: RecordEvent.ACCEPT,
    AcknowledgeType.RELEASE: RecordEvent.RELEASE,
    AcknowledgeType.REJECT: RecordEvent.REJECT,
}


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Verdicts on the offsets from first to last: one for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def type_at(self, offset: int) -> int:
        return self.types[offset - self.first_offset] if len(self.types) > 1 else self.types[0]


class RequestFailed(KafkaError):
    """The whole request fails, its other partitions, too.

    Apache Kafka runs into an error of its own, and answers UNKNOWN_SERVER_ERROR.
    """

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR)


Settle = Callable[[], None]
"""Lets changes count that are written."""


def settling(later: deque[Settle]) -> Steps[None]:
    """Let these changes count, once."""
    while later:
        later.popleft()()
        yield


def settle_all(later: deque[Settle]) -> None:
    """The same at once."""
    at_once(settling(later))


class _Changes:
    """The changes of a call so far."""

    def __init__(self, partition: SharePartition) -> None:
        self._partition = partition
        self._limits: ShareLimits | None = None
        self._undo: list[tuple[Delivery, Delivery]] = []
        self._done_before = partition.delivery_complete_count
        self._released: list[tuple[int, Delivery]] = []  # by the first offset
        self.stored: list[StateBatch] = []

    @property
    def limits(self) -> ShareLimits:
        """Looked up once, as it takes longer than to change a record."""
        if self._limits is None:
            self._limits = self._partition.limits()
        return self._limits

    def release(self, first: int, last: int, delivery: Delivery) -> None:
        """To be delivered again, unless that was done as often as it may be."""
        if delivery.count >= self.limits.delivery_count_limit:
            self.change(first, last, delivery, RecordEvent.EXHAUST)
            return
        self._undo.append((delivery, delivery.copy()))
        delivery.let_go()
        self._released.append((first, delivery))
        self.stored.append(StateBatch(first, last, RecordState.AVAILABLE, delivery.count))

    def change(self, first: int, last: int, delivery: Delivery, event: RecordEvent) -> None:
        self._undo.append((delivery, delivery.copy()))
        delivery.on(event)
        self.stored.append(StateBatch(first, last, delivery.state, delivery.count))
        if delivery.state.is_final:
            self._partition.delivery_complete_count += self._partition.terminal_count(first, last)

    def write(self, later: deque[Settle] | None = None) -> None:
        """Make it durable, then let it count, or leave that for `later`. Raises KafkaError, with
        nothing changed."""
        partition = self._partition
        if not self.stored:
            return
        try:
            partition.write(partition.update(self.stored))
        except KafkaError:
            self.take_back()
            raise
        if later is None:
            self.settle()
        else:
            later.append(self.settle)

    def settle(self) -> None:
        partition = self._partition
        start_offset = partition.start_offset
        for _, delivery in self._released:
            if delivery.state is RecordState.ACQUIRED:  # not gone from the log meanwhile
                delivery.on(RecordEvent.RELEASE)
                partition.must_look_back = True
        if any(first < start_offset for first, _ in self._released):
            gone = partition.batches.beginning_in(0, start_offset - 1)
            partition.remove(0, start_offset, gone, counted=False)
        if partition.move_start() or partition.must_look_back:
            partition.records_available()

    def take_back(self) -> None:
        for delivery, old in reversed(self._undo):
            delivery.restore(old)
        self._partition.delivery_complete_count = self._done_before


def acknowledge(
    partition: SharePartition,
    member_id: str,
    acknowledgements: Iterable[Acknowledgement],
    later: deque[Settle] | None = None,
) -> None:
    """Do as the member says; it counts at once, or when the caller settles what `later` gets.

    Raises RequestFailed, and KafkaError: INVALID_RECORD_STATE, INVALID_REQUEST, and what writing
    raises; then nothing is acknowledged.
    """
    changes = _Changes(partition)
    try:
        for each in acknowledgements:
            if each.last_offset >= partition.start_offset:
                _acknowledge(partition, member_id, each, changes)
    except KafkaError:
        changes.take_back()
        raise
    changes.write(later)


def _acknowledge(
    partition: SharePartition, member_id: str, said: Acknowledgement, changes: _Changes
) -> None:
    for batch in _batches_of(partition, said):
        if batch.last_offset < partition.start_offset:
            continue
        if batch.whole is not None:
            _check_member(batch.whole, member_id)
        is_cut = batch.first_offset < partition.start_offset
        is_within = batch.is_within(said.first_offset, said.last_offset)
        whole = batch.whole
        if whole is not None and is_within and len(said.types) == 1 and not is_cut:
            _apply(partition, said.types[0], batch.first_offset, batch.last_offset, whole, changes)
            continue
        batch.take_apart()
        first_offset = max(said.first_offset, partition.start_offset)
        for offset, delivery in batch.between(first_offset, said.last_offset):
            if not delivery.is_with_member:
                raise _invalid("The offset cannot be acknowledged. The offset is not acquired.")
            if delivery.member_id != member_id:
                raise _invalid("Member is not the owner of offset")
            _apply(partition, said.type_at(offset), offset, offset, delivery, changes)


def _batches_of(partition: SharePartition, said: Acknowledgement) -> list[InFlightBatch]:
    floor = partition.batches.floor(said.first_offset)
    if floor is None and said.first_offset < partition.start_offset:
        floor = partition.batches.floor(partition.start_offset)
        if floor is None:
            raise RequestFailed
    if floor is None:
        raise _invalid(
            "Batch record not found. The request batch offsets are not found in the cache."
        )
    batches = partition.batches.beginning_in(floor.first_offset, said.last_offset)
    if batches[-1].last_offset < said.first_offset:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The first offset in request is past acquired records.",
        )
    if said.last_offset > batches[-1].last_offset:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The last offset in request is past acquired records.",
        )
    return batches


def _check_member(whole: Delivery, member_id: str) -> None:
    if not whole.is_with_member:
        raise _invalid("The batch cannot be acknowledged. The batch is not in the acquired state.")
    if whole.member_id != member_id:
        raise _invalid("Member is not the owner of batch record")


def _apply(
    partition: SharePartition,
    kind: int,
    first_offset: int,
    last_offset: int,
    delivery: Delivery,
    changes: _Changes,
) -> None:
    limits = changes.limits
    if kind == AcknowledgeType.RENEW:
        if not limits.renew_acknowledge_enable:
            raise _invalid("Renewing acquisition locks is not enabled for the group.")
        delivery.renew(partition.clock() + limits.record_lock_duration_seconds)
        return
    event = _EVENTS.get(kind)
    if event is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid acknowledge type: [{kind}]")
    if event is RecordEvent.RELEASE:
        changes.release(first_offset, last_offset, delivery)
    else:
        changes.change(first_offset, last_offset, delivery, event)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD_STATE, message)


def release_all(partition: SharePartition, member_id: str) -> None:
    """The member is gone: what it has is released. Raises KafkaError as writing does."""
    changes = _Changes(partition)
    _release(partition, lambda delivery: delivery.member_id == member_id, changes)
    changes.write()


def release_expired(partition: SharePartition) -> None:
    """Release records whose locks ran out, some at once, even if that cannot be written: no lock is
    left after a start anyway. Raises KafkaError as writing does.

    Each lock is written by itself, as in Kafka's releaseAcquisitionLockOnTimeout: see
    `state_batch.combine` for what members notice of this.
    """
    now = partition.clock()
    changes = _Changes(partition)
    _release(partition, lambda delivery: delivery.deadline <= now, changes, LOCKS_AT_ONCE)
    if not changes.stored:
        return
    partition.lock_timeout_count += sum(batch.record_count for batch in changes.stored)
    try:
        for batch in changes.stored:
            partition.write(partition.update([batch]))
    finally:
        changes.settle()


def _release(
    partition: SharePartition,
    is_meant: Callable[[Delivery], bool],
    changes: _Changes,
    most: float = math.inf,
) -> None:
    for batch in partition.batches:
        whole = batch.whole
        is_cut = batch.first_offset < partition.start_offset <= batch.last_offset
        if whole is not None and is_cut and whole.state is RecordState.ACQUIRED and is_meant(whole):
            batch.take_apart()
        for first_offset, last_offset, delivery in batch.runs():
            if delivery.state is not RecordState.ACQUIRED or not is_meant(delivery):
                continue
            if len(changes.stored) >= most:
                return
            if last_offset < partition.start_offset:
                changes.change(first_offset, last_offset, delivery, RecordEvent.REMOVE)
            else:
                changes.release(first_offset, last_offset, delivery)
