"""A log of batches, a share partition over it, and what is stored of it: for tests of both."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kafkalite.replica.share.acknowledgement import Acknowledgement, acknowledge
from kafkalite.replica.share.acquisition import Acquired, Wanted, acquire
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.replica.share.share_partition import (
    ShareLimits,
    SharePartition,
    SharePartitionKey,
    StateUpdate,
)
from kafkalite.replica.share.state_batch import StateBatch, combine
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, RecordBatch, build_batch

KEY = SharePartitionKey("group", UUID(int=1), 0)


def log_batch(base_offset: int, count: int, **settings: Any) -> RecordBatch:
    records = [Record(timestamp=1, value=b"x") for _ in range(count)]
    data = bytearray(build_batch(records, **settings))
    data[:8] = base_offset.to_bytes(8, "big")
    return RecordBatch(bytes(data))


class World:
    """`now` is the clock, `stored` what a crash would leave. `broken` makes writes fail."""

    def __init__(self, sizes: Sequence[int], **limits: Any) -> None:
        self.log: list[RecordBatch] = []
        for size in sizes:
            self.append(size)
        self.now = 0.0
        self.broken = False
        self.limits = ShareLimits(**limits)
        self.stored_start = 0
        self.stored: list[StateBatch] = []
        self.updates: list[StateUpdate] = []
        self.share = self.opened()

    @property
    def end_offset(self) -> int:
        return self.log[-1].next_offset if self.log else 0

    def append(self, count: int, gap: int = 0) -> None:
        self.log.append(log_batch(self.end_offset + gap, count))

    def write(self, update: StateUpdate) -> None:
        if self.broken:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.updates.append(update)
        self.stored_start = update.start_offset
        self.stored = combine(self.stored, update.batches, update.start_offset)

    def opened(self) -> SharePartition:
        """The state after a crash: what was stored, and nothing else."""
        share = SharePartition(
            KEY, limits=lambda: self.limits, clock=lambda: self.now, write=self.write
        )
        share.load(self.stored_start, self.stored)
        return share

    def fetch(
        self, member_id: str = "a", most: int = 500, batch_size: int = 500, *, limited: bool = False
    ) -> list[Acquired]:
        if not self.share.can_acquire:
            return []
        offset = self.share.next_fetch_offset()
        fetched = [batch for batch in self.log if batch.last_offset >= offset]
        if not fetched:
            return []
        return acquire(self.share, Wanted(member_id, most, batch_size, limited), offset, fetched)

    def say(self, kind: int, first: int, last: int, member_id: str = "a") -> None:
        acknowledge(self.share, member_id, [Acknowledgement(first, last, [kind])])

    def states(self) -> dict[int, tuple[RecordState, int]]:
        """Records in flight by offset: state and delivery count."""
        return {
            offset: (delivery.state, delivery.count)
            for batch in self.share.batches
            for first, last, delivery in batch.runs()
            for offset in range(first, last + 1)
        }


def offsets(acquired: Sequence[Acquired]) -> list[int]:
    return [n for each in acquired for n in range(each.first_offset, each.last_offset + 1)]


def sizes(chance: random.Random, count: int) -> list[int]:
    return [chance.choice((1, 1, 2, 5, 20)) for _ in range(count)]
