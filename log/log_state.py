"""The state of a log: its parts, its offsets, and whether its disk works.

    log start offset <= last stable offset <= high watermark <= log end offset
                                              recovery point <= log end offset

Everything below the recovery point is on the disk. Consumers may read below the high watermark.
Every transaction below the last stable offset is decided. Source: Kafka's UnifiedLog, LocalLog.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from kafkalite.log.config import LogConfig
from kafkalite.log.files import parse_partition_directory, without_future
from kafkalite.log.flush_requests import FlushRequests
from kafkalite.log.joined_writes import Unwritten
from kafkalite.log.loggers import logger_of
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.recovery import LoadedLog
from kafkalite.log.said_once import SaidOnce
from kafkalite.log.segment import LogSegment
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logger_of(__name__)

# A full disk or too many open files pass. Anything else is a broken disk: its logs go offline.
PASSING_ERRORS: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
)
# A file that somebody has removed or replaced tells nothing of the disk.
ERRORS_OF_A_FILE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP))

_CLOSED_AT_ONCE: Final = 100


class LogState:
    """The fields of one log. `Log` changes them by plain functions of this room."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        open_files: OpenFiles,
        *,
        now_ms: Callable[[], int],
        on_failure: Callable[[OSError], None] | None,
        trouble: SaidOnce | None = None,
        flush_requests: FlushRequests | None = None,
    ) -> None:
        self.directory = directory
        self.name = without_future(directory.name)
        self.topic, self.partition = parse_partition_directory(self.name) or (self.name, 0)
        self.config = config
        self.open_files = open_files
        self.files = open_files.files
        self.segments = loaded.segments
        self.leader_epochs = loaded.leader_epochs
        self.producer_state = loaded.producer_state
        self.snapshots = loaded.snapshots
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        # Moved by `advance_high_watermark`; consumers may read below it.
        self.high_watermark = loaded.log_start_offset
        # The reason why the log takes and gives nothing any more; None while all is well.
        self.offline_reason: str | None = None
        # True if opening an offline log again may succeed.
        self.may_come_back = False
        # Batches at the end that are not written yet; see joined_writes.py.
        self.unwritten: Unwritten | None = None
        self._first_unstable_offset: int | None = None
        self.update_first_unstable()
        self._on_failure = on_failure
        self._trouble = trouble or SaidOnce(str(directory), _logger, logging.WARNING)
        self.now_ms = now_ms
        self.last_flush_ms = now_ms()
        # Segments that left the log and are still on the disk: (when to unlink, segment).
        self.deleted_segments: list[tuple[int, LogSegment]] = []
        self.flush_requests = flush_requests or FlushRequests()
        # An append asked for a flush up to here (flush.messages).
        self.flush_wanted_to = 0
        # The name of the directory may not be on the disk: the log has been moved.
        self.has_new_name = False
        # The directory was given the name of a deleted log's.
        self.is_renamed = False
        # The log that took this one's place, after a move.
        self.successor: LogState | None = None
        # Flushes that failed: what they should have covered may not be on the disk.
        self.failed_flush_count = 0
        # The round of compaction or the move that reads the segments; set to None, it stops.
        self.cleaning: object | None = None
        # Called with the log's end when records were cut off. May raise OSError.
        self.on_cut: Callable[[int], None] = _nothing
        # The next segment begins this much earlier than segment.ms says.
        segment = f"{self.name}/{self.segments.active.base_offset}"
        self.roll_jitter_ms = config.random_segment_jitter_ms(segment)
        # segment.index.bytes when the active segment began: its indexes keep that size.
        self.index_bytes = config.segment_index_bytes

    def __repr__(self) -> str:
        return f"Log({self.name}, offsets=[{self.log_start_offset}, {self.log_end_offset}))"

    @property
    def size_bytes(self) -> int:
        """The size of all segments' batches."""
        return sum(segment.size for segment in self.segments)

    def end_of(self, segment: LogSegment) -> int:
        """The offset at which the next segment begins, or the log ends."""
        following = self.segments.after(segment)
        return self.log_end_offset if following is None else following.base_offset

    @property
    def last_stable_offset(self) -> int:
        """READ_COMMITTED sees the records below it: their transactions are decided."""
        if self._first_unstable_offset is None:
            return self.high_watermark
        return min(self._first_unstable_offset, self.high_watermark)

    @property
    def awaits_flush(self) -> bool:
        """True if an append has asked for a flush that is not done."""
        return self.recovery_point < min(self.flush_wanted_to, self.log_end_offset)

    @property
    def must_keep_name(self) -> bool:
        """True if a crash may bring this log back: its successor's name is not on the disk."""
        return self.successor is not None and self.successor.has_new_name

    @property
    def visible_end_offset(self) -> int:
        """A replica's end for the high watermark: the log's end, or the end of the flushed part.

        As in Kafka, a record whose append flushes is seen after the flush.
        """
        if self.config.visible_after_flush or self.awaits_flush:
            return self.recovery_point
        return self.log_end_offset

    def advance_high_watermark(self, offset: int) -> None:
        """Move the high watermark up to `offset`, at most to the log's end; never back."""
        offset = min(offset, self.log_end_offset)
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self.producer_state.has_unstable:
                if self.producer_state.high_watermark_moved(offset):
                    self.update_first_unstable()
            else:
                self._first_unstable_offset = None

    def update_first_unstable(self) -> None:
        """Find again the first transaction that is undecided or not yet replicated."""
        offset = self.producer_state.first_unstable_offset
        if offset is not None and offset < self.log_start_offset:
            offset = self.log_start_offset
        self._first_unstable_offset = offset

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to `epoch`; (-1, -1) if unknown (KIP-320)."""
        return self.leader_epochs.end_offset(epoch, self.log_end_offset)

    def segment_changed(self, kind: str, base_offset: int, why: str) -> None:
        """Tell a test that watches: a segment is "rolled" or "deleted"."""
        watcher = self.open_files.segment_watcher
        if watcher is not None:
            watcher(kind, why, log=self.name, base_offset=base_offset)

    # -- the disk

    def close_files(self) -> None:
        """Let go of the files, writing nothing."""
        for segment in self.segments:
            segment.close()

    def letting_go(self) -> Generator[None]:
        """The same for a log whose use is over; some of many segments are freed a step."""
        while len(self.segments) > 1:
            for segment in self.segments.take_oldest(_CLOSED_AT_ONCE):
                segment.close()
            yield
        self.close_files()
        yield

    def check_online(self) -> None:
        """Raise KafkaError(KAFKA_STORAGE_ERROR) if the log is offline."""
        if self.offline_reason is not None:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"The log of partition {self.name} is offline: {self.offline_reason}",
            )

    def storage_error(self, error: OSError) -> KafkaError:
        """The client's error for `error`. The log goes offline unless the trouble may pass.

        A log that is on its way off the disk may lose its files to another thread at any time.
        """
        if self.is_renamed and error.errno in ERRORS_OF_A_FILE:
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: {self.offline_reason}")
        if error.errno not in PASSING_ERRORS:
            self.offline_reason = str(error)
            _logger.error("%s: offline: %s", self.directory, error)
            if self._on_failure is not None:
                self._on_failure(error)
        else:
            self._trouble.failed(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: {error.strerror or error}")


def _nothing(end_offset: int) -> None:
    """No one keeps anything about this log."""
