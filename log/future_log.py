"""A log moves to another data directory while it is in use (KIP-113).

The copy is the future log. It grows in `topic-partition.<unique>-future` under the other directory,
batch by batch like a follower's log, until it ends where the log ends. What was copied goes onto
the disk, and the metadata name the new directory. Then the future log takes the log's place in one
step, so that no append comes between: its directory takes the name `topic-partition`. When that is
on the disk, too, the old directory's name becomes `...-delete`. Threads wait for the disk.

A crash leaves the log in the old place or in the new one, or in both if it came between the two
renames. The directory that the metadata name counts then. A future log that a start finds is cut to
where it agrees with the log (by leader epochs, KIP-101), and goes on. Source: Kafka's
ReplicaAlterLogDirsThread, LogManager.replaceCurrentWithFutureLog.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.disk_wait import DiskWait, Pieces, Waits, without_threads
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import iterate_batches

if TYPE_CHECKING:
    from kafkalite.log.checkpoints import TopicPartition
    from kafkalite.log.directory import LogDirectory
    from kafkalite.log.flushing import Flush
    from kafkalite.log.log import Log

Assign = Callable[["LogDirectory"], Waits[None]]
"""Writes into the metadata in which directory a log lies."""

# The bytes that are copied in one step: about 10 ms if the batches are the smallest.
_STEP_BYTES = 64 << 10
# A long copy is flushed each time that this many bytes are copied.
_UNFLUSHED_BYTES = 1 << 20
# The most steps in which appends are copied that come while a thread waits for the disk.
_LAST_STEPS = 4
_ANY_EPOCH = 2**31 - 1
# The flushes of the log that may overtake that of its copy before a flush is waited for.
_OVERTAKEN_TIMES = 20


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
        self.has_finished = False
        # The metadata name the target already.
        self.is_assigned = False
        self._unflushed_bytes = future.size_bytes
        self._overtaken_count = 0
        # The start of the future log that a crash finds.
        self._kept_start = -1
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
        """True if so few copied bytes are unflushed that flushing them takes hardly any time."""
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
        return without_threads(self.stepping())

    def stepping(self) -> Pieces[int]:
        """The same as `step`, in pieces if a batch is large."""
        source, future = self.source, self.future
        if source.cleaning is not self:  # it was cut
            source.cleaning = self
            self._cut_to_agree()
        if future.log_end_offset < source.log_start_offset:
            first_offset = self._first_offset()
            if future.log_end_offset < first_offset:
                future.start_over_at(first_offset)
        size = 0
        if not self.is_caught_up:
            size = yield from self._copying(max(future.log_end_offset, source.log_start_offset))
            self._unflushed_bytes += size
        self._follow_start()
        return size

    def _follow_start(self) -> None:
        source, future = self.source, self.future
        future.advance_high_watermark(source.high_watermark)
        if future.log_start_offset < source.log_start_offset <= future.high_watermark:
            future.delete_records_before(source.log_start_offset)

    def _copying(self, offset: int) -> Pieces[int]:
        """Copy what lies at `offset`; returns the bytes copied."""
        from kafkalite.log.follower_append import appending_as_follower  # not before a move

        data = yield from _reading(self.source, offset)
        with closing(appending_as_follower(self.future, data, _ANY_EPOCH)) as steps:
            for step in steps:
                yield step
                if self.source.cleaning is not self:  # it was cut, or the move is cancelled
                    return 0
        return len(data)

    def _first_offset(self) -> int:
        """The first batch's base offset: the log's start may lie inside of that batch."""
        source = self.source
        data = without_threads(_reading(source, source.log_start_offset))
        for batch in iterate_batches(data):
            return min(batch.base_offset, source.log_start_offset)
        return source.log_start_offset

    def begin_flush(self) -> Flush | None:
        """A flush of the copied batches; None if all are on the disk. Raises KafkaError."""
        self._unflushed_bytes = 0
        return self.future.begin_flush()

    def finishing(self, assign: Assign, switched: Callable[[Log], None]) -> Waits[None]:
        """Let the future log, which has caught up, take the log's place: `has_finished` then.

        If appends come meanwhile, it may have to copy more, and to be asked again. `assign` writes
        into the metadata which of the two directories counts after a crash. `switched` is called
        in the step in which the future log takes over. Raises KafkaError(KAFKA_STORAGE_ERROR): the
        log is where it was, unless `has_finished`.
        """
        assert self.is_caught_up
        yield from self._settling()
        if not self.is_assigned:
            self.is_assigned = True  # or soon, even if nothing waits for it here
            try:
                yield from assign(self.target_directory)
            except KafkaError:
                self.is_assigned = False
                raise
        for _ in range(_LAST_STEPS):
            if self.is_caught_up:
                break
            self.step()
        if not self._may_switch():
            return
        before = self.source.directory
        self.target_directory.make_way(self.target_directory.path / self.source.name)
        try:
            self._switch()
        except OSError as error:
            raise self.future.storage_error(error) from error
        switched(self.future)
        wait = DiskWait(partial(self.future.files.sync_directory, self.target_directory.path))
        yield wait
        try:
            wait.finish()
        except OSError as error:
            raise self.future.storage_error(error) from error
        self.future.has_new_name = False
        # A failed deletion was logged where it failed. The next start removes the log that is not
        # assigned.
        with suppress(KafkaError):
            self.source_directory.make_way(before)

    def _settling(self) -> Waits[None]:
        """Have the copy and the state of the producers on the disk. Raises KafkaError."""
        future, state = self.future, self.source.producer_state
        offset = state.end_offset = future.log_end_offset
        try:
            # Some producers' records are gone.
            future.snapshots.remove_at(offset)
            future.snapshots.take(state)
            wait = DiskWait(partial(future.snapshots.sync, offset))
            while (flush := self.begin_flush()) is not None:
                yield from flush.waiting()
            yield wait
            wait.finish()
        except OSError as error:
            raise future.storage_error(error) from error
        self._follow_start()
        self._kept_start = future.log_start_offset
        for start in self.target_directory.keeping_starts([future]):
            if start is not None:
                yield start

    def _may_switch(self) -> bool:
        """True if nothing is left to be copied, and records that were flushed stay flushed, and
        those that were deleted stay deleted."""
        if not self.is_caught_up or self.source.cleaning is not self:
            return False
        if self._kept_start < self.source.log_start_offset:
            return False
        if self.future.recovery_point >= self.source.recovery_point:
            return True
        self._overtaken_count += 1
        if self._overtaken_count < _OVERTAKEN_TIMES:
            return False
        self.future.flush()
        return True

    def _switch(self) -> None:
        """The future log is the log from now on. Raises OSError."""
        source, future, target = self.source, self.future, self.target_directory
        _rename(future, target.path / source.name)
        key = self.key
        del target.future_logs[key]
        target.logs[key] = future
        cleaned_up_to = self.source_directory.cleaned_up_to.get(key)
        if cleaned_up_to is not None:
            target.cleaned_up_to[key] = cleaned_up_to
        source.successor = future
        self.source_directory.delete_log(*key)
        future.producer_state = source.producer_state
        future.advance_high_watermark(source.high_watermark)
        future.update_first_unstable()
        self.has_finished = True

    def cancel(self) -> None:
        """Stop, and delete the future log, unless the log or the other disk is broken."""
        if self.source.cleaning is self:
            self.source.cleaning = None
        if self.source.offline_reason is None and self.target_directory.failure is None:
            self.target_directory.delete_future(*self.key)


def _reading(log: Log, offset: int) -> Pieces[bytes]:
    """The bytes of a few batches from `offset` on. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    records = log.read(offset, _STEP_BYTES, upper_bound=log.log_end_offset).records
    if isinstance(records, bytes):
        return records
    with records:
        data: list[bytes] = []
        wait = DiskWait(lambda: data.append(records.read()))
        if records.size > PIECE_BYTES:
            yield wait
        try:
            wait.finish()
        except OSError as error:
            raise log.storage_error(error) from error
        return data[0]


def _rename(log: Log, target: Path) -> None:
    """Give a log's directory another name. Raises OSError."""
    log.files.rename(log.directory, target)
    log.directory = target
    for segment in (*log.segments, *(segment for _, segment in log.deleted_segments)):
        for file in (segment.file, *segment.indexes):
            file.directory = target
    log.leader_epochs.moved_to(target)
    log.snapshots.moved_to(target)
    log.has_new_name = True
