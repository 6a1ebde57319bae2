"""A log moves to another data directory while it is in use (KIP-113).

The copy is the future log. It grows in `topic-partition.<unique>-future` under the other directory,
batch by batch like a follower's log, until it ends where the log ends. Then it takes the log's
place in one plain function, so that no append comes between: its directory takes the name
`topic-partition`, and the old directory's name becomes `...-delete`.

A crash leaves the log in the old place or in the new one, or in both if it came between the two
renames. The directory that the metadata name counts then: the caller writes it before the first
rename. A future log that a start finds is cut to where it agrees with the log (by leader epochs,
KIP-101), and goes on. Source: Kafka's ReplicaAlterLogDirsThread,
LogManager.replaceCurrentWithFutureLog.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.log.truncation import truncate_fully
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import iterate_batches

if TYPE_CHECKING:
    from kafkalite.log.checkpoints import TopicPartition
    from kafkalite.log.directory import LogDirectory
    from kafkalite.log.flushing import Flush
    from kafkalite.log.log import Log

# Copying so many bytes takes about 10 ms if the batches are the smallest.
_STEP_BYTES = 64 << 10
# So much may be left for `finish` to flush.
_UNFLUSHED_BYTES = 1 << 20


class LogMove:
    """One log on its way from `source_directory` to `target_directory`, where the future log is.

    Meanwhile the log is neither cleaned nor retained, as in Kafka: its segments are being read.
    """

    def __init__(
        self,
        source: Log,
        source_directory: LogDirectory,
        target_directory: LogDirectory,
        future: Log,
    ) -> None:
        self.source = source
        self.source_directory = source_directory
        self.target_directory = target_directory
        self.future = future
        self._unflushed_bytes = future.size_bytes
        source.cleaning = self
        self._cut_to_agree()

    def __repr__(self) -> str:
        source, target = self.source_directory.path, self.target_directory.path
        return f"<{self.source.name} from {source} to {target}>"

    @property
    def key(self) -> TopicPartition:
        return self.source.topic, self.source.partition

    @property
    def is_flushed(self) -> bool:
        """True if flushing the rest of the copied bytes takes no time to speak of."""
        return self._unflushed_bytes <= _UNFLUSHED_BYTES

    @property
    def is_caught_up(self) -> bool:
        return self.future.log_end_offset == self.source.log_end_offset

    @property
    def lag(self) -> int:
        """The number of offsets still to be copied."""
        return self.source.log_end_offset - self.future.log_end_offset

    def _cut_to_agree(self) -> None:
        """Cut a future log from an earlier start to where it agrees with the log."""
        source, future = self.source, self.future
        while future.leader_epochs.latest >= 0:
            latest = future.leader_epochs.latest
            epoch, end = source.end_offset_for_epoch(latest)
            if epoch < 0:
                future.truncate_to(future.segments.first.base_offset)
                return
            future.truncate_to(min(end, source.log_end_offset))
            if epoch == latest or future.leader_epochs.latest == latest:
                return

    def step(self) -> int:
        """Copy a few batches; returns the bytes copied, 0 if the future log has caught up.

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): the disk of either log fails.
            KafkaError(CORRUPT_MESSAGE): the log has a bad batch.
        """
        source, future = self.source, self.future
        if future.log_end_offset < source.log_start_offset:
            first_offset = self._first_offset()
            if future.log_end_offset < first_offset:
                truncate_fully(future, first_offset, future.now_ms())
        size = 0
        if not self.is_caught_up:
            offset = max(future.log_end_offset, source.log_start_offset)
            data = _read(source, offset)
            size = len(data)
            future.append_as_follower(data)
            self._unflushed_bytes += size
        future.advance_high_watermark(source.high_watermark)
        if future.log_start_offset < source.log_start_offset <= future.high_watermark:
            future.delete_records_before(source.log_start_offset)
        return size

    def _first_offset(self) -> int:
        """The first batch's base offset: the log's start may lie inside of that batch."""
        source = self.source
        for batch in iterate_batches(_read(source, source.log_start_offset)):
            return min(batch.base_offset, source.log_start_offset)
        return source.log_start_offset

    def begin_flush(self) -> Flush | None:
        """A flush of the copied batches; None if all are on the disk. Raises KafkaError."""
        self._unflushed_bytes = 0
        return self.future.begin_flush()

    def finish(self, assign: Callable[[LogDirectory], None]) -> Log:
        """Let the future log take the log's place, and return it. It must have caught up.

        `assign` writes into the metadata which of the two directories counts after a crash. Raises
        KafkaError(KAFKA_STORAGE_ERROR): the log is where it was.
        """
        source, future = self.source, self.future
        assert self.is_caught_up
        if future.recovery_point < source.recovery_point:
            future.flush()  # flushed records stay flushed
        self._note_producers()
        assign(self.target_directory)
        key = self.key
        self.target_directory.make_way(self.target_directory.path / source.name)
        try:
            _rename(future, self.target_directory.path / source.name)
        except OSError as error:
            assign(self.source_directory)
            raise future.storage_error(error) from error
        del self.target_directory.future_logs[key]
        self.target_directory.logs[key] = future
        future.producer_state = source.producer_state
        future.advance_high_watermark(source.high_watermark)
        future.update_first_unstable()
        # A failed deletion was logged where it failed. The next start removes the log that is not
        # assigned.
        before = source.directory
        with suppress(KafkaError):
            self.source_directory.delete_log(*key)
            self.source_directory.make_way(before)
        return future

    def _note_producers(self) -> None:
        """Write and flush the producers' state: some producers' records are gone."""
        future, state = self.future, self.source.producer_state
        state.end_offset = future.log_end_offset
        try:
            future.snapshots.remove_at(state.end_offset)
            future.snapshots.take(state, sync=True)
        except OSError as error:
            raise future.storage_error(error) from error

    def cancel(self) -> None:
        """Stop, and delete the future log, unless the log or the other disk is broken."""
        if self.source.cleaning is self:
            self.source.cleaning = None
        if self.source.offline_reason is None and self.target_directory.failure is None:
            self.target_directory.delete_future(*self.key)


def _read(log: Log, offset: int) -> bytes:
    """The bytes of a few batches from `offset` on. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    records = log.read(offset, _STEP_BYTES, upper_bound=log.log_end_offset).records
    if isinstance(records, bytes):
        return records
    with records:
        try:
            return records.read()
        except OSError as error:
            raise log.storage_error(error) from error


def _rename(log: Log, target: Path) -> None:
    """Give a log's directory another name. Raises OSError."""
    log.files.rename(log.directory, target)
    log.directory = target
    for segment in (*log.segments, *(segment for _, segment in log.deleted_segments)):
        for file in (segment.file, *segment.indexes):
            file.path = target / file.path.name
    log.leader_epochs.moved_to(target)
    log.snapshots.moved_to(target)
    log.files.sync_directory(target.parent)
