"""A change of the metadata on its way: appended to the log, on the disk, and only then applied.

One change is on its way at a time. A thread waits for the disk. A decision that is taken meanwhile
would not see the change, and could contradict it: so `settle` comes before each decision. A change
that failed is cut from the log: later decisions do not see it, and the next start must not, either.
To take in a long change takes several steps, and it is on its way until the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafkalite.log.disk_wait import DiskWait
from kafkalite.requests.slices import Steps, WaitingSteps, at_once
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
        # Takes it in, once it is on the disk; each that waits for the change takes that further.
        self.taking_in: Steps[None] | None = None
        self.is_over = False
        self.failure: KafkaError | None = None


class MetadataWriter:
    """Writes changes to the log; `apply` takes each in, with the offset of its last record."""

    def __init__(
        self, log: MetadataLog, apply: Callable[[Sequence[object], int], Steps[None]]
    ) -> None:
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
            at_once(self._apply(records, offset))
            return
        change = self.on_its_way = MetadataChange(records, first_offset, offset, flush)
        if not flush.waits_for_disk:
            self._advance(change)

    def settling(self) -> WaitingSteps[None]:
        """Complete the changes that are on their way, whether they succeed or fail."""
        while self.on_its_way is not None:
            yield from self._ending(self.on_its_way)

    def settle(self) -> None:
        """The same, now: waits for the disk if there is one."""
        at_once(self.settling())

    def finishing(self) -> WaitingSteps[None]:
        """Complete the change that is on its way. Raises KafkaError if it fails."""
        change = self.on_its_way
        if change is not None:
            yield from self._ending(change)
        if change is not None and change.failure is not None:
            raise change.failure

    def _ending(self, change: MetadataChange) -> WaitingSteps[None]:
        while not change.is_over:
            yield change.sync if change.taking_in is None else None
            self._advance(change)

    def _advance(self, change: MetadataChange) -> None:
        """Take a change one step further. Raises what taking it in raises."""
        if change.is_over:  # another was faster
            return
        if change.taking_in is None:
            change.sync()
            change.taking_in = self._taking_in(change)
        next(change.taking_in, None)

    def _taking_in(self, change: MetadataChange) -> Steps[None]:
        try:
            if change.sync.error is not None:
                change.failure = change.flush.fail(change.sync.error)
                self._log.cut_at(change.first_offset)
            else:
                change.flush.complete()
                yield from self._apply(change.records, change.offset)
        finally:
            change.is_over = True
            self.on_its_way = None
