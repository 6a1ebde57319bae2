"""Updates of share states that wait for others, to be written as one batch.

With `share.coordinator.append.linger.ms` an update is written when the time of the first one of its
batch is over, when the batch is full, or with a record that may not wait. This process goes by it
at once, but an answer that rests on it waits until it is written (server/linger_gate.py). If it
cannot be written, `lost` is told the partition: its states are those in the log. Source: Kafka's
CoordinatorRuntime.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.coordinators.share_coordinator.share_state import Record
from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition

_logger = logger_of(__name__)

# The most that a record takes besides its key and value.
_RECORD_OVERHEAD_BYTES: Final = 24


class LingeringBatch:
    """A batch that is gathered until `due`, a time of trio's; `is_written` tells how it ended."""

    def __init__(self, partition: Partition, due: float) -> None:
        self.partition = partition
        self.due = due
        self.leader_epoch = partition.leader_epoch
        self.base_offset = partition.log.log_end_offset
        self.records: list[Record] = []
        self.size_bytes = HEADER_BYTES
        self.done = trio.Event()
        self.is_written = False

    def has_room(self, partition: Partition, size_bytes: int) -> bool:
        """Tells whether records of this size may be added.

        A partition that is led in another epoch counts as another partition.
        """
        is_same = partition is self.partition and partition.leader_epoch == self.leader_epoch
        most_bytes = self.partition.log.config.max_batch_bytes
        return is_same and self.size_bytes + size_bytes <= most_bytes

    def add(self, records: Sequence[Record], size_bytes: int) -> int:
        """Add records of this size; the offset that the first one will have."""
        offset = self.base_offset + len(self.records)
        self.records += records
        self.size_bytes += size_bytes
        return offset


class Linger:
    """The batches that are gathered, at most one for a partition, for so many seconds each.

    `write` appends records to a partition, and returns the offset of the first one.
    """

    def __init__(self, seconds: float, write: Callable[[Partition, Sequence[Record]], int]) -> None:
        self._seconds = seconds
        self._write = write
        self._batches: dict[int, LingeringBatch] = {}
        self._begun = trio.Event()
        self._is_running = False
        self.lost: Callable[[int], None] = lambda index: None
        # Counts the records that had to wait.
        self.asked_count = 0

    @property
    def batches(self) -> Collection[LingeringBatch]:
        """The batches that are gathered now."""
        return self._batches.values()

    async def run(self) -> None:
        """Write what is due, for ever. Before and after, nothing begins to wait."""
        self._is_running = True
        if self._batches:
            self._begun.set()
        try:
            while True:
                await self._begun.wait()
                self._begun = trio.Event()
                while self._batches:
                    await trio.sleep_until(min(batch.due for batch in self.batches))
                    self._write_due(trio.current_time())
        finally:
            self._is_running = False

    def append(self, partition: Partition, records: Sequence[Record], *, may_linger: bool) -> int:
        """Take records; the offset of the first one. Raises KafkaError, as writing does.

        What may not wait is written at once, and with it all that waited before.
        """
        waits = may_linger and self._is_running
        size_bytes = sum(
            len(key) + len(value or b"") + _RECORD_OVERHEAD_BYTES for key, value in records
        )
        batch = self._batches.get(partition.index)
        if batch is not None and not batch.has_room(partition, size_bytes):
            self._end(batch)
            batch = None
        if batch is None:
            if not waits:
                return self._write(partition, records)
            batch = self._begin(partition)
        offset = batch.add(records, size_bytes)
        if waits:
            self.asked_count += len(records)
        else:
            self._end(batch)
        return offset

    def _begin(self, partition: Partition) -> LingeringBatch:
        """Raises KafkaError if nothing could be written now."""
        partition.log.check_online()
        partition.check_in_sync()
        batch = LingeringBatch(partition, trio.current_time() + self._seconds)
        self._batches[partition.index] = batch
        self._begun.set()
        return batch

    def _write_due(self, now: float) -> None:
        for batch in list(self.batches):
            if batch.due <= now:
                try:
                    self._end(batch)
                except KafkaError as error:
                    _logger.warning("updates of share states are lost: %s", error)

    def _end(self, batch: LingeringBatch) -> None:
        """Write it. Raises KafkaError, after `lost` was told."""
        partition = batch.partition
        del self._batches[partition.index]
        try:
            if partition.leader_epoch != batch.leader_epoch:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if self._write(partition, batch.records) != batch.base_offset:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"others write to {partition.log.name}"
                )
            batch.is_written = True
        finally:
            if not batch.is_written:
                self.lost(partition.index)
            batch.done.set()
