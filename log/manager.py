"""All logs of a broker, over its data directories, and the work in their background.

Nothing here waits or runs by itself. The broker's tasks call `retention`, `flushes_due`,
`checkpoint` and so on, and let others go first between the steps of these iterators. Source:
Kafka's LogManager.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from kafkalite.log.checkpoints import TopicPartition
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import DiskWait, Waits
from kafkalite.log.files import LOG_SUFFIX, StoredPartition
from kafkalite.log.flushing import Flush, has_unflushed_roll, is_flush_due
from kafkalite.log.future_log import Assign, LogMove
from kafkalite.log.log import Log
from kafkalite.log.loggers import logger_of
from kafkalite.log.producer_state import PRODUCER_ID_EXPIRATION_MS
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logger_of(__name__)


class LogManager:
    """Logs by (topic, partition), whichever directory they are in.

    `failed` are data directories that could not be opened at all, and why.
    """

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        failed: Mapping[Path, OSError] = MappingProxyType({}),
    ) -> None:
        self.directories = list(directories)
        self.failed = dict(failed)
        self.moves: dict[TopicPartition, LogMove] = {}
        # The directories of each log; two after a crash between a move's renames.
        self._stored: dict[TopicPartition, list[LogDirectory]] = {}
        self._stored_futures: dict[TopicPartition, tuple[LogDirectory, StoredPartition]] = {}
        # The directories asked for by AlterReplicaLogDirs before the partitions were there.
        self._preferred: dict[TopicPartition, LogDirectory] = {}
        # The number of logs that were placed in a directory and are not made yet.
        self._promised: Counter[LogDirectory] = Counter()

    def stored_partitions(self) -> list[StoredPartition]:
        """The partitions found in the working directories, future logs too. Raises OSError."""
        found: list[StoredPartition] = []
        for directory in self.directories:
            if directory.failure is None:
                for stored in directory.partitions():
                    key = (stored.topic, stored.partition)
                    if stored.is_future:
                        self._stored_futures[key] = directory, stored
                    elif directory not in self._stored.setdefault(key, []):
                        self._stored[key].append(directory)
                    found.append(stored)
        return found

    def is_empty(self, stored: StoredPartition) -> bool:
        """True if a found partition has no batch. Raises OSError."""
        files = self.directories[0].files
        logs = [name for name in files.names(stored.path) if name.endswith(LOG_SUFFIX)]
        return not any(files.size(stored.path / name) for name in logs)

    def discard(self, stored: StoredPartition) -> None:
        """Remove a found partition that has no topic. Raises OSError."""
        for directory in self.directories:
            if directory.path == stored.path.parent:
                directory.discard(stored.path)
                self._forget(stored, directory)

    def set_aside(self, stored: StoredPartition) -> Path:
        """Rename a found partition that has no topic, for good; its new path. Raises OSError."""
        for directory in self.directories:
            if directory.path == stored.path.parent:
                self._forget(stored, directory)
                return directory.set_aside(stored.path)
        return stored.path

    def _forget(self, stored: StoredPartition, directory: LogDirectory) -> None:
        key = (stored.topic, stored.partition)
        if stored.is_future:
            self._stored_futures.pop(key, None)
        else:
            self._stored[key].remove(directory)

    @property
    def logs(self) -> Iterator[Log]:
        """All logs; those that go meanwhile are left out, and not kept."""
        for directory in self.directories:
            for key in list(directory.logs):
                log = directory.logs.get(key)
                if log is not None:
                    yield log

    def get(self, topic: str, partition: int) -> Log | None:
        for directory in self.directories:
            log = directory.logs.get((topic, partition))
            if log is not None:
                return log
        return None

    def directory_at(self, path: str) -> LogDirectory | None:
        """The data directory at an absolute path, whether it works or not."""
        return next((each for each in self.directories if str(each.path) == path), None)

    @property
    def has_failed(self) -> bool:
        """True if any data directory does not work."""
        return bool(self.failed) or any(each.failure is not None for each in self.directories)

    # -- opening and deleting

    def place(
        self, topic: str, partition: int, avoided: Collection[LogDirectory] = ()
    ) -> LogDirectory:
        """The directory for a new log: the one asked for, or the one with the fewest logs.

        A directory in `avoided` is taken only if there is no other. Raises
        KafkaError(KAFKA_STORAGE_ERROR): no directory works.
        """
        directory = self._preferred.get((topic, partition))
        if directory is None or directory.failure is not None:
            working = [each for each in self.directories if each.failure is None]
            if not working:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "No data directory works")
            wanted = [each for each in working if each not in avoided] or working
            directory = min(wanted, key=lambda each: len(each.logs) + max(0, self._promised[each]))
        self._promised[directory] += 1
        return directory

    def all_placed(self) -> None:
        """Forget the placed logs: they are made now, or never will be."""
        self._promised.clear()

    def prefer(self, topic: str, partition: int, directory: LogDirectory) -> None:
        """Place the log in `directory`, once its partition is created."""
        self._preferred[topic, partition] = directory

    def open_log(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        topic_id: uuid.UUID | None = None,
        assigned: Collection[str] = (),
        avoided: Collection[LogDirectory] = (),
    ) -> Log:
        """Open a log in its directory; a new one in its assigned directory, or where `place` says.

        Args:
            assigned: ids of the directories that the metadata name, if any.
            avoided: as for `place`.

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): the log's directory does not work, or the log lies in
                two and neither is assigned.
            KafkaError: as LogDirectory.open_log.
        """
        key = (topic, partition)
        directory = self._holder(key, assigned)
        if directory is None:
            directory = self._assigned(assigned) or self.place(topic, partition, avoided)
            self._promised[directory] -= 1
        log = directory.open_log(topic, partition, config, topic_id=topic_id)
        self._stored[key] = [directory]
        self._preferred.pop(key, None)
        return log

    def _holder(self, key: TopicPartition, assigned: Collection[str]) -> LogDirectory | None:
        """The directory of a log, if there is one. Removes the log's copy that does not count."""
        holders = self._stored.get(key, [])
        if not holders:
            return self._promoted(key, assigned)
        if len(holders) == 1:
            return holders[0]
        chosen = [each for each in holders if each.directory_id in assigned]
        if len(chosen) != 1:
            places = " and ".join(str(each.path) for each in holders)
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{key[0]}-{key[1]} lies in {places}: remove all but one of them",
            )
        for other in holders:
            if other is not chosen[0]:
                self._discard_from(other, other.path / f"{key[0]}-{key[1]}")
        return chosen[0]

    def _promoted(self, key: TopicPartition, assigned: Collection[str]) -> LogDirectory | None:
        """Let a future log take the place of a log whose directory does not work, if assigned."""
        directory, stored = self._stored_futures.get(key, (None, None))
        if directory is None or stored is None or directory.directory_id not in assigned:
            return None
        try:
            directory.files.rename(stored.path, directory.path / f"{key[0]}-{key[1]}")
            directory.files.sync_directory(directory.path)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{stored.path}: {error}") from error
        del self._stored_futures[key]
        return directory

    def _assigned(self, assigned: Collection[str]) -> LogDirectory | None:
        """The assigned directory; None if none is assigned. Raises KafkaError: it does not work."""
        if not assigned:
            return None
        for directory in self.directories:
            if directory.directory_id in assigned and directory.failure is None:
                return directory
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"its data directory (directory.id {', '.join(assigned)}) is not here or does not work",
        )

    def delete_log(self, topic: str, partition: int) -> None:
        """Delete a log, and its move. A log that could not be opened goes, too.

        Raises KafkaError(KAFKA_STORAGE_ERROR): some of its files are still there.
        """
        key = (topic, partition)
        self.cancel_move(topic, partition)
        for directory in self._stored.pop(key, []):
            if key in directory.logs:
                directory.delete_log(topic, partition)
            elif directory.failure is None:
                self._discard_from(directory, directory.path / f"{topic}-{partition}")

    def _discard_from(self, directory: LogDirectory, path: Path) -> None:
        try:
            if directory.files.exists(path):
                directory.discard(path)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error

    def directory_of(self, topic: str, partition: int) -> Path | None:
        """The path of the data directory in which a log lies."""
        holders = self._stored.get((topic, partition))
        return holders[0].path if holders else None

    # -- moving

    def begin_move(self, topic: str, partition: int, target: LogDirectory) -> LogMove:
        """Begin to move a log to `target`, or go on with a future log that a restart found there.

        The log must be open, and not on its way yet. Raises KafkaError as LogDirectory.open_future.
        """
        key = (topic, partition)
        (source_directory,) = self._stored[key]
        source = source_directory.logs[key]
        found_in, stored = self._stored_futures.pop(key, (None, None))
        future = target.open_future(
            topic,
            partition,
            source.config,
            topic_id=source_directory.topic_id(topic, partition),
            path=stored.path if stored is not None and found_in is target else None,
        )
        move = self.moves[key] = LogMove(source, source_directory, target, future)
        return move

    def resume_moves(self) -> None:
        """Go on with the moves that a restart found; a future log beside its log is removed."""
        for (topic, partition), (directory, stored) in list(self._stored_futures.items()):
            holders = self._stored.get((topic, partition), [])
            log = self.get(topic, partition)
            if not holders or log is None or log.offline_reason is not None:
                continue  # the log itself is broken, or in a directory that does not work
            try:
                if holders[0] is directory:
                    self.discard(stored)
                else:
                    self.begin_move(topic, partition, directory)
            except (KafkaError, OSError) as error:
                _logger.error("%s: its move does not go on: %s", stored.path, error)

    def finishing_move(
        self, move: LogMove, assign: Assign, switched: Callable[[Log], None]
    ) -> Waits[None]:
        """Put the future log in its place as the log, as LogMove.finishing does."""

        def take_over(log: Log) -> None:
            self._stored[move.key] = [move.target_directory]
            del self.moves[move.key]
            switched(log)

        return move.finishing(assign, take_over)

    def cancel_move(self, topic: str, partition: int) -> None:
        """Stop a move, if there is one, and delete the future log. Raises KafkaError."""
        move = self.moves.pop((topic, partition), None)
        if move is not None:
            move.cancel()

    # -- work in the background, in slices

    def _of_each(self, work: Callable[[Log], Iterable[object]]) -> Iterator[object]:
        """Work on each log, one a step or several. An error takes the log or its directory offline.

        A step that can be called waits for the disk, in any thread.
        """
        for log in self.logs:
            if log.offline_reason is None:
                try:
                    yield from work(log)
                except OSError as error:
                    if log.offline_reason is None:
                        log.storage_error(error)
                except KafkaError:  # logged where it was raised
                    pass
                yield log

    def retention(self, *, of_compacted: bool = False) -> Iterator[object]:
        """Retention of the compacted logs, which the cleaner sees to between its rounds, or of the
        others (log.retention.check.interval.ms)."""
        yield from self._of_each(
            lambda log: log.retaining() if log.config.compact is of_compacted else ()
        )
        yield from self._remove_deleted()

    def unlink_deleted(self) -> Iterator[object]:
        """Remove segments and logs whose file.delete.delay.ms has passed."""
        yield from self._of_each(Log.unlinking_deleted)
        yield from self._remove_deleted()

    def move_deleted(self) -> Iterator[object]:
        """Rename the directories of the logs that were deleted, one a step."""
        for directory in self.directories:
            yield from directory.move_deleted()

    def _remove_deleted(self) -> Iterator[object]:
        for directory in self.directories:
            yield from directory.remove_deleted()

    def remove_expired_producers(
        self, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    ) -> Iterator[object]:
        """Forget silent producers (producer.id.expiration.check.interval.ms)."""
        for log in self.logs:
            if log.offline_reason is None:
                yield from log.producer_state.remove_expired(log.now_ms(), expiration_ms)
                yield None

    def flushes_due(self, now_ms: int) -> Iterator[Flush | None]:
        """A flush, begun, for each log whose flush.ms has passed; None for each other."""
        return self._flushes(lambda log: is_flush_due(log, now_ms), lambda log: None)

    def rolled(self) -> Iterator[Flush | None]:
        """The same for each log that rolled since: Kafka flushes a segment when it rolls."""
        return self._flushes(has_unflushed_roll, lambda log: log.segments.active.base_offset)

    def _flushes(
        self, is_due: Callable[[Log], bool], up_to: Callable[[Log], int | None]
    ) -> Iterator[Flush | None]:
        for log in self.logs:
            reached, flush = -1, None
            # The next part is for the flush that moved the recovery point, and was not the last.
            while log.recovery_point > reached and (flush is None or not flush.is_last):
                reached, flush = log.recovery_point, None
                if log.offline_reason is None and is_due(log):
                    with suppress(KafkaError):  # logged where it was raised
                        flush = log.begin_flush(up_to(log))
                yield flush

    def checkpoint(self) -> Iterator[object]:
        """Write the checkpoints (log.flush.offset.checkpoint.interval.ms and its like).

        A step that can be called writes a file, and may be called in a thread.
        """
        for directory in self.directories:
            if directory.failure is None:
                yield from directory.checkpoint_steps()

    def abandoning(self) -> Generator[None]:
        """Let go of all files without writing anything. The first step unlocks all directories."""
        steps = [directory.abandoning() for directory in self.directories]
        for each in steps:
            next(each)
        yield
        for each in steps:
            yield from each

    def close(self) -> None:
        """Close all logs and unlock the directories."""
        for _ in self.closing():
            pass

    def closing(self) -> Iterator[DiskWait | None]:
        """The same in steps, a log each. A step that can be called waits for the disk."""
        for directory in self.directories:
            yield from directory.closing()
