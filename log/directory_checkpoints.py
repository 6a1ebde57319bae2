"""A data directory's four checkpoints: for each log, the offsets that a restart must know.

They hold the recovery point, the log start offset, the high watermark, and the end of the part that
the cleaner has cleaned. Source: Kafka's LogManager.checkpointLogRecoveryOffsets,
checkpointLogStartOffsets, ReplicaManager.checkpointHighWatermarks, LogCleanerManager.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Lock

from kafkalite.log.checkpoints import TopicPartition, offsets_if_sound, write_offsets
from kafkalite.log.files import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    Files,
)
from kafkalite.log.log_state import LogState


class DirectoryCheckpoints:
    """The offsets as they were read at the start, brought up to date by `steps`."""

    def __init__(self, path: Path, files: Files) -> None:
        self._path = path
        self._files = files
        # Starting from nothing costs time (everything is scanned) but loses no record.
        self.recovery_points = offsets_if_sound(files, path / RECOVERY_POINT_CHECKPOINT)
        self.log_start_offsets = offsets_if_sound(files, path / LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = offsets_if_sound(files, path / HIGH_WATERMARK_CHECKPOINT)
        # Moved by the cleaner.
        self.cleaned_up_to = offsets_if_sound(files, path / CLEANER_CHECKPOINT)
        self._has_recovery_points = bool(self.recovery_points)
        # The content of each file, if this broker has written it, and its number. Without a cleaner
        # the fourth is as it was.
        self._written: dict[str, tuple[int, Mapping[TopicPartition, int] | None]] = {
            CLEANER_CHECKPOINT: (0, dict(self.cleaned_up_to))
        }
        self._last_number = 0
        # Logs that are gone, and that the files may still have.
        self._forgotten: set[TopicPartition] = set()
        # Several write, in threads of their own, and by way of the same temporary files.
        self._lock = Lock()

    def recovery_point(self, key: TopicPartition) -> int | None:
        """The recovery point that the last broker left; 0 if the log is younger than the file.

        None if there was no file, or none with an entry: then it may have been anywhere.
        """
        return self.recovery_points.get(key, 0) if self._has_recovery_points else None

    def opened(self, key: TopicPartition, log: LogState) -> None:
        """Give a log the high watermark that it had, and hear of each cut. Raises OSError."""
        log.advance_high_watermark(self.high_watermarks.get(key, 0))
        log.on_cut = partial(self._cut, key)
        self._cut(key, log.log_end_offset)

    def forget(self, key: TopicPartition) -> None:
        """Drop a deleted log's offsets; from the files, too, with the next `forgotten`."""
        for offsets in (
            self.recovery_points,
            self.log_start_offsets,
            self.high_watermarks,
            self.cleaned_up_to,
        ):
            if offsets.pop(key, None) is not None:
                self._forgotten.add(key)

    def begin_anew(self, key: TopicPartition) -> None:
        """A new log has nothing of the offsets of an earlier one of its name. Raises OSError."""
        self.forget(key)
        if key in self._forgotten:
            for write in self.forgotten():
                write()

    def forgotten(self, topics: Container[str] | None = None) -> Iterator[Callable[[], None]]:
        """Functions that bring the files up to date, as `steps`, if a log was forgotten (of one of
        these topics): a new one of its name must not be opened with its offsets after a crash."""
        if any(topics is None or topic in topics for topic, _ in self._forgotten):
            yield from self._writing()

    def steps(
        self, logs: Iterable[tuple[TopicPartition, LogState]]
    ) -> Iterator[Callable[[], None] | None]:
        """Gather the offsets, a log a step; then yield a function for each file to be written.

        A thread may call these functions. They raise OSError.
        """
        for key, log in logs:
            if log.offline_reason is None:
                self.recovery_points[key] = log.recovery_point
                self.high_watermarks[key] = log.high_watermark
                self._note_start(key, log)
            yield None
        yield from self._writing()

    def starts(
        self, logs: Iterable[tuple[TopicPartition, LogState]]
    ) -> Iterator[Callable[[], None] | None]:
        """The same for the start of some logs alone, before anybody is told of it."""
        for key, log in logs:
            self._note_start(key, log)
            yield None
        yield from self._writing_of(LOG_START_OFFSET_CHECKPOINT, self.log_start_offsets)

    def cleaned(self) -> Iterator[Callable[[], None]]:
        """The same for what the cleaner has done alone."""
        return self._writing_of(CLEANER_CHECKPOINT, self.cleaned_up_to)

    def _cut(self, key: TopicPartition, end_offset: int) -> None:
        """A log ends here: what will come after it is not clean. Raises OSError.

        The file says so at once, as after a crash nothing else would. The loop does not wait for
        the disk: the next checkpoint does. Source: LogCleanerManager.maybeTruncateCheckpoint.
        """
        if self.cleaned_up_to.get(key, 0) > end_offset:
            self.cleaned_up_to[key] = end_offset
            for write in self._writing_of(CLEANER_CHECKPOINT, self.cleaned_up_to, sync=False):
                write()

    def _note_start(self, key: TopicPartition, log: LogState) -> None:
        """The start of a log that is not open stays what it was."""
        if log.log_start_offset > log.segments.first.base_offset:
            self.log_start_offsets[key] = log.log_start_offset
        else:  # the first segment's name tells it, as in Kafka
            self.log_start_offsets.pop(key, None)

    def _writing(self) -> Iterator[Callable[[], None]]:
        forgotten = frozenset(self._forgotten)
        for name, offsets in (
            (RECOVERY_POINT_CHECKPOINT, self.recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, self.log_start_offsets),
            (HIGH_WATERMARK_CHECKPOINT, self.high_watermarks),
            (CLEANER_CHECKPOINT, self.cleaned_up_to),
        ):
            yield from self._writing_of(name, offsets)
        self._forgotten -= forgotten

    def _writing_of(
        self, name: str, offsets: Mapping[TopicPartition, int], *, sync: bool = True
    ) -> Iterator[Callable[[], None]]:
        _, written = self._written.get(name, (0, None))
        if written != offsets:
            self._last_number += 1
            yield partial(self._write, name, self._last_number, dict(offsets), sync=sync)

    def _write(
        self, name: str, number: int, offsets: dict[TopicPartition, int], *, sync: bool
    ) -> None:
        with self._lock:
            latest, _ = self._written.get(name, (0, None))
            if number > latest:  # else another thread has written what was gathered later
                write_offsets(self._files, self._path / name, offsets, sync=sync)
                self._written[name] = number, offsets if sync else None
