"""A data directory's three checkpoints: for each log, the offsets that a restart must know.

They hold the recovery point, the log start offset and the high watermark. Source: Kafka's
LogManager.checkpointLogRecoveryOffsets, checkpointLogStartOffsets,
ReplicaManager.checkpointHighWatermarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        # Written by the cleaner alone.
        self.cleaned_up_to = offsets_if_sound(files, path / CLEANER_CHECKPOINT)
        self._has_recovery_points = bool(self.recovery_points)
        # The content of each file, if this broker has written it.
        self._written: dict[str, dict[TopicPartition, int]] = {}
        # Two jobs write, in threads of their own, and by way of the same temporary files.
        self._writing = Lock()

    def recovery_point(self, key: TopicPartition) -> int | None:
        """The recovery point that the last broker left; 0 if the log is younger than the file.

        None if there was no file, or none with an entry: then it may have been anywhere.
        """
        return self.recovery_points.get(key, 0) if self._has_recovery_points else None

    def forget(self, key: TopicPartition) -> None:
        """Drop a deleted log's offsets."""
        for offsets in (
            self.recovery_points,
            self.log_start_offsets,
            self.high_watermarks,
            self.cleaned_up_to,
        ):
            offsets.pop(key, None)

    def steps(
        self, logs: Iterable[tuple[TopicPartition, LogState]]
    ) -> Iterator[Callable[[], None] | None]:
        """Gather the offsets, a log a step; then yield a function for each file to be written.

        A thread may call these functions. They raise OSError.
        """
        starts: dict[TopicPartition, int] = {}
        online: set[TopicPartition] = set()
        for key, log in logs:
            if log.offline_reason is None:
                online.add(key)
                self.recovery_points[key] = log.recovery_point
                self.log_start_offsets[key] = log.log_start_offset
                self.high_watermarks[key] = log.high_watermark
                # The first segment's name tells the other starts, as in Kafka.
                if log.log_start_offset > log.segments.first.base_offset:
                    starts[key] = log.log_start_offset
            yield None
        # The start of a log that is not open is still what it was.
        starts.update(
            (key, offset) for key, offset in self.log_start_offsets.items() if key not in online
        )
        for name, offsets in (
            (RECOVERY_POINT_CHECKPOINT, self.recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, starts),
            (HIGH_WATERMARK_CHECKPOINT, self.high_watermarks),
        ):
            if self._written.get(name) != offsets:
                yield partial(self._write, name, dict(offsets))

    def _write(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        with self._writing:
            write_offsets(self._files, self._path / name, offsets)
            self._written[name] = offsets
