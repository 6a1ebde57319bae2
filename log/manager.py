"""All logs of a broker, over its data directories, and the work that goes on behind them.

Nothing here waits or runs by itself: the broker's tasks call `retention`, `flush_due`, `checkpoint` and so
on, and take a breath between the steps of what is offered as an iterator.
Source: Kafka's LogManager.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkalite.log.checkpoints import TopicPartition
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory, StoredPartition
from kafkalite.log.flushing import Flush
from kafkalite.log.log import PRODUCER_ID_EXPIRATION_MS, Log
from kafkalite.wire.errors import ErrorCode, KafkaError


class LogManager:
    """Logs by (topic, partition), whichever directory they are in."""

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self.directories = list(directories)
        self._stored: dict[TopicPartition, LogDirectory] = {}

    def stored_partitions(self) -> list[StoredPartition]:
        """What is in the directories that work; a partition found twice counts where it is found first.

        Raises:
            OSError: a directory cannot be read.
        """
        found: list[StoredPartition] = []
        for directory in self.directories:
            if directory.failure is None:
                for stored in directory.partitions():
                    key = (stored.topic, stored.partition)
                    if key not in self._stored:
                        self._stored[key] = directory
                        found.append(stored)
        return found

    @property
    def logs(self) -> Iterator[Log]:
        for directory in self.directories:
            yield from list(directory.logs.values())

    def get(self, topic: str, partition: int) -> Log | None:
        for directory in self.directories:
            log = directory.logs.get((topic, partition))
            if log is not None:
                return log
        return None

    def open_log(
        self, topic: str, partition: int, config: LogConfig, *, topic_id: uuid.UUID | None = None
    ) -> Log:
        """Open a log where it lies; a new one in the directory with the fewest.

        Raises:
            KafkaError: as LogDirectory.open_log; KAFKA_STORAGE_ERROR when no directory works.
        """
        key = (topic, partition)
        directory = self._stored.get(key)
        if directory is None:
            working = [directory for directory in self.directories if directory.failure is None]
            if not working:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "No data directory works")
            directory = min(working, key=lambda directory: len(directory.logs))
        log = directory.open_log(topic, partition, config, topic_id=topic_id)
        self._stored[key] = directory
        return log

    def delete_log(self, topic: str, partition: int) -> None:
        """Delete a log. Raises KafkaError(KAFKA_STORAGE_ERROR), KeyError if it is not open."""
        self._stored[(topic, partition)].delete_log(topic, partition)
        del self._stored[(topic, partition)]

    def directory_of(self, topic: str, partition: int) -> Path | None:
        directory = self._stored.get((topic, partition))
        return None if directory is None else directory.path

    # -- work in the background, in slices

    def retention(self) -> Iterator[Log]:
        """Retention of every log (log.retention.check.interval.ms): one log a step."""
        for log in self.logs:
            if log.offline_reason is None:
                try:
                    log.retain()
                except KafkaError:  # logged where it was raised
                    continue
                yield log
        for directory in self.directories:
            directory.remove_deleted()

    def unlink_deleted(self) -> None:
        """Remove segments and logs whose file.delete.delay.ms has passed."""
        for log in self.logs:
            if log.deleted_segments and log.offline_reason is None:
                log.unlink_deleted()
        for directory in self.directories:
            directory.remove_deleted()

    def remove_expired_producers(
        self, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    ) -> Iterator[Log]:
        """Forget silent producers (producer.id.expiration.check.interval.ms): one log a step."""
        for log in self.logs:
            log.remove_expired_producers(expiration_ms)
            yield log

    def flushes_due(self, now_ms: int) -> Iterator[Flush]:
        """A flush, begun, for each log whose flush.ms has passed (log.flush.scheduler.interval.ms)."""
        for log in self.logs:
            if log.offline_reason is None and log.is_flush_due(now_ms):
                flush = log.begin_flush()
                if flush is not None:
                    yield flush

    def rolled(self) -> Iterator[Flush]:
        """A flush for each log that rolled since the last: Kafka flushes a segment when it rolls."""
        for log in self.logs:
            if log.offline_reason is None and log.has_unflushed_roll:
                flush = log.begin_flush(log.segments.active.base_offset)
                if flush is not None:
                    yield flush

    def checkpoint(self) -> None:
        """Write the checkpoints (log.flush.offset.checkpoint.interval.ms and its like)."""
        for directory in self.directories:
            if directory.failure is None:
                try:
                    directory.checkpoint()
                except KafkaError:
                    continue

    def close(self) -> None:
        """Close all logs and unlock the directories."""
        for directory in self.directories:
            directory.close()
