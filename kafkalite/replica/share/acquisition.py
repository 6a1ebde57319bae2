"""Delivering records: what was read from the log becomes acquired by a member.

Whole batches of the log are delivered, since a consumer gets bytes as they lie there; the member is
told which offsets of them are its own. In record-limited mode (KIP-1206) it gets no more records
than it asked for, and the rest of the last batch stays available. A record that keeps failing is
delivered among fewer and fewer others, in the end alone, so that it cannot wear out its neighbours.

Source: Kafka's SharePartition.acquire.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafkalite.replica.share.in_flight import Delivery, InFlightBatch, RecordState
from kafkalite.replica.share.share_partition import ShareLimits, SharePartition
from kafkalite.wire.record_batch import RecordBatch

_FEWEST_DELIVERIES_BEFORE_THROTTLING: Final = 2


class Acquired(NamedTuple):
    """Offsets from first to last that now belong to the member, delivered for the nth time."""

    first_offset: int
    last_offset: int
    delivery_count: int

    @property
    def record_count(self) -> int:
        return self.last_offset - self.first_offset + 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wishes of a member. `batch_size` is how many records may be acquired as one."""

    member_id: str
    max_records: int
    batch_size: int
    is_record_limited: bool = False


def acquire(
    partition: SharePartition, wanted: Wanted, fetch_offset: int, fetched: Sequence[RecordBatch]
) -> list[Acquired]:
    """Acquire the records that may be delivered, of those read from `fetch_offset` on."""
    if partition.is_fenced or wanted.max_records <= 0 or not fetched:
        return []
    last_offset = fetched[-1].last_offset
    if last_offset < partition.start_offset:
        return []
    room = partition.limits().partition_max_record_locks - partition.in_flight_count
    most = min(wanted.max_records, room)
    if most <= 0:
        # No more records may be out; but those that came back may go again.
        most = min(wanted.max_records, partition.end_offset - fetch_offset + 1)
        last_offset = min(last_offset, partition.end_offset)
        if most <= 0:
            return []
    return _Acquisition(partition, wanted, fetch_offset, fetched, last_offset, most).run()


class _Acquisition:
    """One call of `acquire`: `left` records may still be acquired, up to `last_offset`."""

    def __init__(
        self,
        partition: SharePartition,
        wanted: Wanted,
        fetch_offset: int,
        fetched: Sequence[RecordBatch],
        last_offset: int,
        most: int,
    ) -> None:
        self.partition = partition
        self.wanted = wanted
        self.fetch_offset = fetch_offset
        self.fetched = fetched
        self.first_offset = fetched[0].base_offset
        self.last_offset = last_offset
        self.left = most
        self.limits: ShareLimits = partition.limits()
        self.deadline = partition.lock_deadline()
        self.acquired: list[Acquired] = []

    def run(self) -> list[Acquired]:
        partition = self.partition
        base_offset = self.first_offset
        self._remove_what_compaction_took(base_offset)
        floor = partition.batches.floor(base_offset)
        if floor is None:
            base_offset = max(base_offset, partition.start_offset)
        elif floor.last_offset >= base_offset:
            base_offset = floor.first_offset
        lowest = min(self.first_offset, base_offset)
        known = partition.batches.beginning_in(lowest, self.last_offset)
        if not known:
            self._acquire_new(base_offset, self.last_offset)
            return self.acquired
        self._acquire_known(known, base_offset)
        last_known = partition.batches.floor(self.last_offset)
        assert last_known is not None
        if self.left > 0 and last_known.last_offset < self.last_offset:
            self._acquire_new(last_known.last_offset + 1, self.last_offset)
        if self.acquired:
            partition.move_gap_start(self.acquired[-1].last_offset + 1)
        return self.acquired

    def _remove_what_compaction_took(self, base_offset: int) -> None:
        """Records in flight between the offset asked for and the first there is, are gone."""
        partition = self.partition
        if not partition.batches or self.fetch_offset >= base_offset:
            return
        lowest = self.fetch_offset
        floor = partition.batches.floor(lowest)
        if floor is not None and floor.last_offset >= lowest:
            lowest = floor.first_offset
        gone = partition.batches.beginning_in(lowest, base_offset - 1)
        if partition.remove(self.fetch_offset, base_offset, gone, counted=True):
            partition.must_look_back = True

    # Records in flight before

    def _acquire_known(self, known: Sequence[InFlightBatch], base_offset: int) -> None:
        gap_start_offset = base_offset
        for batch in known:
            if self.left <= 0:
                return
            if self.partition.active_gap() is not None:
                if gap_start_offset < batch.first_offset:
                    self._acquire_new(gap_start_offset, batch.first_offset - 1)
                gap_start_offset = batch.last_offset + 1
                if self.left <= 0:
                    return
            if not self._acquire_batch(batch):
                self.left = 0

    def _acquire_batch(self, batch: InFlightBatch) -> bool:
        """Acquire what is available of a batch; False if nothing must follow it."""
        is_throttled = self._is_throttled(batch)
        if is_throttled and self.acquired:
            return False
        whole = batch.whole
        if whole is not None and whole.state is not RecordState.AVAILABLE:
            return True
        is_too_large = self.wanted.is_record_limited and len(batch) > self.left
        is_within = batch.is_within(self.first_offset, self.last_offset)
        if whole is not None and is_within and not is_too_large and not is_throttled:
            whole.acquire(self.wanted.member_id, self.deadline)
            self._add(Acquired(batch.first_offset, batch.last_offset, whole.count))
            return True
        batch.take_apart()
        found = list(self._acquire_some(batch))
        for run in _runs(found):
            self._add(run)
        return not (is_throttled and found)

    def _add(self, acquired: Acquired) -> None:
        self.acquired.append(acquired)
        self.left -= acquired.record_count

    def _acquire_some(self, batch: InFlightBatch) -> Iterator[Acquired]:
        """Acquire single records of a batch, in order, fewer where they were delivered often."""
        limit = self.limits.delivery_count_limit
        throttled_from = _throttled_from(limit)
        most = self.left if self.wanted.is_record_limited else len(batch)
        is_throttled = False
        count = 0
        for offset, delivery in batch.between(self.first_offset, self.last_offset):
            if delivery.state is not RecordState.AVAILABLE:
                continue
            if limit > 2 and delivery.count == limit - 1 and count:
                return  # its last delivery, which it gets alone
            if delivery.count >= throttled_from and not is_throttled:
                is_throttled = True
                most = min(most, max(1, len(batch) >> (delivery.count - throttled_from + 1)))
            delivery.acquire(self.wanted.member_id, self.deadline)
            count += 1
            yield Acquired(offset, offset, delivery.count)
            if (delivery.count == limit and limit > 2) or count >= most:
                return

    def _is_throttled(self, batch: InFlightBatch) -> bool:
        """True if a record that would be delivered has failed often already."""
        throttled_from = _throttled_from(self.limits.delivery_count_limit)
        if batch.whole is not None:
            available = [batch.whole]
        else:
            available = [each for _, each in batch.between(self.first_offset, self.last_offset)]
        return any(
            each.state is RecordState.AVAILABLE and each.count >= throttled_from
            for each in available
        )

    # Records never delivered

    def _acquire_new(self, first_offset: int, last_offset: int) -> None:
        """Acquire whole batches of the log that are not in flight, within these bounds."""
        partition = self.partition
        if not partition.batches and partition.end_offset > first_offset:
            first_offset = partition.end_offset
        bound = last_offset
        if self.left < last_offset - first_offset + 1:
            last_offset = self._end_of_batch_with(first_offset + self.left - 1)
            if partition.active_gap() is not None:
                last_offset = min(last_offset, bound)
        if self.wanted.is_record_limited and last_offset - first_offset + 1 > self.left:
            self._acquire_part(first_offset, last_offset)
            acquired = [Acquired(first_offset, first_offset + self.left - 1, 1)]
        else:
            acquired = [
                Acquired(first, last, 1) for first, last in self._cut(first_offset, last_offset)
            ]
            for first, last, _ in acquired:
                delivery = self._delivery()
                partition.batches.add(InFlightBatch(first, last, delivery))
        if partition.batches.first.first_offset == first_offset:
            partition.start_offset = first_offset
        partition.end_offset = max(partition.end_offset, last_offset)
        for each in acquired:
            self._add(each)
        partition.move_gap_start(acquired[-1].last_offset + 1)

    def _delivery(self) -> Delivery:
        return Delivery(RecordState.ACQUIRED, 1, self.wanted.member_id, self.deadline)

    def _acquire_part(self, first_offset: int, last_offset: int) -> None:
        """Put all in flight, and acquire the first `left` records; the others are available."""
        batch = InFlightBatch(first_offset, last_offset, self._delivery())
        for delivery in batch.take_apart()[self.left :]:
            delivery.restore(Delivery(RecordState.AVAILABLE, 0))
        self.partition.batches.add(batch)
        self.partition.must_look_back = True

    def _cut(self, first_offset: int, last_offset: int) -> Iterator[tuple[int, int]]:
        """The bounds, cut where a batch of the log begins and `batch_size` records are reached."""
        batch_size = self.wanted.batch_size
        if not self.wanted.is_record_limited and last_offset - first_offset + 1 > batch_size:
            for batch in self.fetched:
                if batch.base_offset > last_offset:
                    break
                if batch.base_offset - first_offset >= batch_size:
                    yield first_offset, batch.base_offset - 1
                    first_offset = batch.base_offset
        yield first_offset, last_offset

    def _end_of_batch_with(self, offset: int) -> int:
        """The last offset of the batch of the log that holds `offset`."""
        holding: RecordBatch | None = None
        for batch in self.fetched:
            if offset < batch.base_offset:
                break
            holding = batch
        if holding is not None and offset <= holding.last_offset:
            return holding.last_offset
        return offset


def _throttled_from(delivery_count_limit: int) -> int:
    """From this many deliveries on, a record is delivered among fewer others."""
    return max(_FEWEST_DELIVERIES_BEFORE_THROTTLING, math.ceil(delivery_count_limit / 2))


def _runs(acquired: Sequence[Acquired]) -> Iterator[Acquired]:
    """Neighbours with one delivery count as one."""
    run: Acquired | None = None
    for each in acquired:
        if run is None:
            run = each
        elif each.first_offset == run.last_offset + 1 and each.delivery_count == run.delivery_count:
            run = run._replace(last_offset=each.last_offset)
        else:
            yield run
            run = each
    if run is not None:
        yield run
