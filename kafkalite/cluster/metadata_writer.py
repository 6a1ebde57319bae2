"""A change of the metadata on its way: appended to the log, on the disk, and only then applied.

One change is on its way at a time. A thread waits for the disk. A decision that is taken meanwhile
would not see the change, and could contradict it: so `settle` comes before each decision. A change
that failed is cut from the log: later decisions do not see it, and the next start must not, either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafkalite.log.disk_wait import DiskWait
from kafkalite.requests.slices import WaitingSteps, at_once
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.cluster.metadata_log import MetadataLog
    from kafkalite.log.flushing import Flush


class MetadataChange:
    """A change that is appended. `is_over` once it is applied, or has failed."""

    def __init__(
        self, records: Sequence[object], first_offset: int, offset: int, flush: Flush
    ) -> None:
        self.records = records
        self.first_offset = first_offset
        self.offset = offset
        self.flush = flush
        self.sync = DiskWait(flush.run)
        self.is_over = False
        self.failure: KafkaError | None = None


class MetadataWriter:
    """Writes changes to the log; `apply` takes each in, with the offset of its last record."""

    def __init__(self, log: MetadataLog, apply: Callable[[Sequence[object], int], None]) -> None:
        self.on_its_way: MetadataChange | None = None
        self._log = log
        self._apply = apply

    def append(self, batch: bytes, records: Sequence[object], *, must_flush: bool = True) -> None:
        """Append a change, which `finishing` takes further; applied already if no disk is to be
        waited for. None may be on its way. Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        assert self.on_its_way is None
        first_offset = self._log.next_offset
        offset = self._log.append(batch)
        try:
            flush = self._log.begin_flush() if must_flush else None
        except KafkaError:
            self._log.cut_at(first_offset)
            raise
        if flush is None:
            self._apply(records, offset)
            return
        change = self.on_its_way = MetadataChange(records, first_offset, offset, flush)
        if not flush.waits_for_disk:
            self._finish(change)

    def settling(self) -> WaitingSteps[None]:
        """Take the changes that are on their way to their end, whatever becomes of them."""
        while self.on_its_way is not None:
            change = self.on_its_way
            yield change.sync
            self._finish(change)

    def settle(self) -> None:
        """The same, now: waits for the disk if there is one."""
        at_once(self.settling())

    def finishing(self) -> WaitingSteps[None]:
        """Take the change that is on its way to its end. Raises KafkaError: it failed."""
        change = self.on_its_way
        while change is not None and not change.is_over:
            yield change.sync
            self._finish(change)
        if change is not None and change.failure is not None:
            raise change.failure

    def _finish(self, change: MetadataChange) -> None:
        if change.is_over:  # another was faster
            return
        change.sync()
        change.is_over = True
        self.on_its_way = None
        if change.sync.error is not None:
            change.failure = change.flush.fail(change.sync.error)
            self._log.cut_at(change.first_offset)
        else:
            change.flush.complete()
            self._apply(change.records, change.offset)
