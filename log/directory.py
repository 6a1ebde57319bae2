"""A data directory (one of `log.dirs`): the logs in it, and the files they share.

`meta.properties` names its cluster and node. A living broker holds `.lock`. A broker that closed
all its logs leaves `.kafka_cleanshutdown`. The checkpoints hold each log's offsets for a restart.
All are in Kafka's formats. Source: Kafka's LogManager, CleanShutdownFileHandler.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from pathlib import Path

from kafkalite.log.checkpoints import (
    CorruptCheckpoint,
    TopicPartition,
    read_topic_id,
    write_topic_id,
)
from kafkalite.log.clean_shutdown import (
    UNKNOWN_BROKER_EPOCH,
    close_logs,
    mark_clean_shutdown,
    take_clean_shutdown,
)
from kafkalite.log.config import LogConfig
from kafkalite.log.deleted_logs import DeletedLogs
from kafkalite.log.directory_checkpoints import DirectoryCheckpoints
from kafkalite.log.directory_lock import DirectoryLock
from kafkalite.log.disk_wait import DiskWait, waited_for
from kafkalite.log.files import (
    PARTITION_METADATA,
    StoredPartition,
    future_directory,
    is_deleted_directory,
    parse_partition_directory,
    stray_directory,
    without_future,
)
from kafkalite.log.flush_requests import FlushRequests
from kafkalite.log.log import Log
from kafkalite.log.log_state import ERRORS_OF_A_FILE, PASSING_ERRORS
from kafkalite.log.loggers import logger_of
from kafkalite.log.meta_properties import MetaProperties, ensure_meta_properties
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.log.said_once import SaidOnce
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logger_of(__name__)


class LogDirectory:
    """One data directory, locked, with its logs. Made by `LogDirectory.open`."""

    def __init__(
        self,
        path: Path,
        properties: MetaProperties,
        lock: DirectoryLock,
        *,
        now_ms: Callable[[], int],
        open_files: OpenFiles,
        on_failure: Callable[[LogDirectory, OSError], None] | None,
    ) -> None:
        self.path = path
        self.cluster_id, self.node_id, self.directory_id = properties
        self.logs: dict[TopicPartition, Log] = {}
        # Logs that are to come here from another data directory, while they are copied.
        self.future_logs: dict[TopicPartition, Log] = {}
        self.now_ms = now_ms
        self.open_files = open_files
        self.files = open_files.files
        # The reason why nothing here works any more; None while all is well.
        self.failure: OSError | None = None
        # Others can lead what lies here: a log that cannot be opened takes the directory offline.
        self.fails_with_any_log = False
        self.flush_requests = FlushRequests()
        self._lock = lock
        self._on_failure = on_failure
        # Logs an error that passes (a full disk) once for all logs here.
        self._trouble = SaidOnce(str(path), _logger, logging.WARNING)
        self._deleted = DeletedLogs(
            self.files,
            now_ms=now_ms,
            has_failed=lambda: self.failure is not None,
            trouble=self._trouble,
        )
        taken = take_clean_shutdown(path, self.files)
        self.was_clean_shutdown = taken is not None
        # The epoch of the broker that closed the directory last; -1 if none did.
        self.previous_broker_epoch = UNKNOWN_BROKER_EPOCH if taken is None else taken
        # Noted when the directory is closed: controllers know a clean shutdown by it (KIP-966).
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self._checkpoints = DirectoryCheckpoints(path, self.files)
        self.cleaned_up_to = self._checkpoints.cleaned_up_to  # the cleaner moves it
        # The topic ids that `partitions` found, by the directory's name, until its log is opened.
        self._found_topic_ids: dict[str, uuid.UUID] = {}

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        cluster_id: str | None,
        node_id: int,
        now_ms: Callable[[], int],
        new_id: str | None = None,
        open_files: OpenFiles | None = None,
        on_failure: Callable[[LogDirectory, OSError], None] | None = None,
    ) -> LogDirectory:
        """Lock a data directory, made if it is not there, and read its state.

        Args:
            cluster_id: the cluster it must belong to; None takes any, and a new id for a new one.
            new_id: the id of a new directory; None leaves it to chance.
            on_failure: called when the disk breaks; every log here is offline then.

        Raises:
            DataDirectoryInUse: a living broker has it.
            InconsistentDataDirectory: it is another cluster's or node's.
            OSError: it cannot be read or written.
        """
        open_files = OpenFiles() if open_files is None else open_files
        files = open_files.files
        files.make_directory(path)
        path = path.absolute()  # its name for clients, which may be a link's
        lock = DirectoryLock.take(path.resolve())
        try:
            return cls(
                path,
                ensure_meta_properties(path, files, cluster_id, node_id, new_id),
                lock,
                now_ms=now_ms,
                open_files=open_files,
                on_failure=on_failure,
            )
        except BaseException:
            lock.release()
            raise

    def __repr__(self) -> str:
        return f"LogDirectory({str(self.path)!r}, {len(self.logs)} logs)"

    def partitions(self) -> list[StoredPartition]:
        """The partitions that have a directory here. Directories of deleted logs are removed.

        Raises OSError: the directory cannot be read.
        """
        found: list[StoredPartition] = []
        for name in self.files.names(self.path):
            path = self.path / name
            current_name = without_future(name)
            parsed = parse_partition_directory(current_name)
            is_deleted = is_deleted_directory(name)
            if not (parsed or is_deleted) or not self.files.is_directory(path):
                continue
            if parsed is None:
                self._deleted.add_directory(path)
                continue
            topic_id = None
            try:
                topic_id = read_topic_id(self.files, path / PARTITION_METADATA)
            except CorruptCheckpoint as error:
                _logger.warning("%s", error)
            if topic_id is not None:
                self._found_topic_ids[name] = topic_id
            found.append(StoredPartition(*parsed, topic_id, path, current_name != name))
        for _ in self.remove_deleted():
            pass
        return found

    def open_log(
        self, topic: str, partition: int, config: LogConfig, *, topic_id: uuid.UUID | None = None
    ) -> Log:
        """Open a partition's log, new or old, from where its checkpoints say.

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): the directory or this log is broken.
            KafkaError(INCONSISTENT_TOPIC_ID): the log is of another topic of that name.
        """
        log = self._open(self.path / f"{topic}-{partition}", (topic, partition), config, topic_id)
        self.logs[topic, partition] = log
        return log

    def open_future(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        topic_id: uuid.UUID | None = None,
        path: Path | None = None,
    ) -> Log:
        """A future log: new, or at `path` where a restart found it. Raises as `open_log`."""
        place = self.path / future_directory(topic, partition) if path is None else path
        try:
            log = self._open(place, (topic, partition), config, topic_id)
        except KafkaError:
            if path is None and self.files.is_directory(place):
                self._deleted.add_directory(place)  # else a start would go on with the move
            raise
        self.future_logs[topic, partition] = log
        return log

    def _open(
        self, path: Path, key: TopicPartition, config: LogConfig, topic_id: uuid.UUID | None
    ) -> Log:
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {self.failure}")
        self.make_way(path)
        is_new = False
        try:
            is_new = not self.files.is_directory(path)
            if is_new:
                self._checkpoints.begin_anew(key)
            if topic_id is not None:
                self._keep_topic_id(path, topic_id)
            log = open_log(
                path,
                config,
                now_ms=self.now_ms,
                open_files=self.open_files,
                log_start_offset=self._checkpoints.log_start_offsets.get(key, 0),
                recovery_point=self._checkpoints.recovery_point(key),
                clean_shutdown=self.was_clean_shutdown,
                cleaned_up_to=self._checkpoints.cleaned_up_to.get(key, 0),
                on_failure=self._log_failed,
                trouble=self._trouble,
                flush_requests=self.flush_requests,
            )
            self._checkpoints.opened(key, log)
        except (OSError, CorruptCheckpoint) as error:
            if isinstance(error, OSError) and (is_new or self.fails_with_any_log):
                self._log_failed(error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error
        return log

    def _keep_topic_id(self, path: Path, topic_id: uuid.UUID) -> None:
        file = path / PARTITION_METADATA
        try:
            kept = self._found_topic_ids.pop(path.name, None) or read_topic_id(self.files, file)
        except CorruptCheckpoint as error:  # the power went before it was on the disk
            _logger.warning("%s", error)
            kept = None
        if kept is None:
            self.files.make_directory(path)
            write_topic_id(self.files, file, topic_id)
        elif kept != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"{path}: the log is of topic id {kept}, not {topic_id}",
            )

    def topic_id(self, topic: str, partition: int) -> uuid.UUID | None:
        """The topic id in a log's `partition.metadata`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        path = self.logs[topic, partition].directory / PARTITION_METADATA
        try:
            return read_topic_id(self.files, path)
        except (OSError, CorruptCheckpoint) as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error

    def delete_log(self, topic: str, partition: int) -> None:
        """Delete a log: it is offline at once, and its files go after `file.delete.delay.ms`.

        A log that a crash leaves where it was belongs to no topic at the next start, and goes then.
        """
        self._delete(self.logs.pop((topic, partition)))

    def delete_future(self, topic: str, partition: int) -> None:
        """Delete a future log, as `delete_log` does."""
        self._delete(self.future_logs.pop((topic, partition)))

    def _delete(self, log: Log) -> None:
        self._deleted.add(log)
        self._checkpoints.forget((log.topic, log.partition))

    def make_way(self, path: Path) -> None:
        """Free a deleted log's path for another. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self._deleted.make_way(path)

    def move_deleted(self) -> Iterator[object]:
        """Rename the directories of the logs that were deleted, one a step; then forget them."""
        yield from self._deleted.move_away()
        yield from self.forgetting()

    def forgetting(self, topics: Container[str] | None = None) -> Iterator[DiskWait | None]:
        """Have the files forget logs that were deleted, if there are some (of these topics)."""
        return self._said(self._checkpoints.forgotten(topics))

    def remove_deleted(self) -> Iterator[object]:
        """Remove the deleted logs whose delay has passed, one a step."""
        return self._deleted.remove()

    def discard(self, path: Path) -> None:
        """Remove a directory of no log with the next `remove_deleted`. Raises OSError."""
        self._found_topic_ids.pop(path.name, None)
        self._deleted.discard(path)

    def set_aside(self, path: Path) -> Path:
        """Rename a directory that belongs to no log to `...-stray`, for good. Raises OSError."""
        self._found_topic_ids.pop(path.name, None)
        target = path.with_name(stray_directory(without_future(path.name)))
        self.files.rename(path, target)
        return target

    @property
    def all_logs(self) -> Iterator[tuple[TopicPartition, Log]]:
        """Every log whose files are here, future logs too; a partition has one at most."""
        for logs in (self.logs, self.future_logs):
            # The keys alone: pairs of thousands would be made and freed at once.
            for key in list(logs):
                log = logs.get(key)
                if log is not None:
                    yield key, log

    def checkpoint(self) -> None:
        """Write the checkpoints. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        try:
            for _ in waited_for(self._checkpoints.steps(self.all_logs)):
                pass
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {error}") from error

    def checkpoint_steps(self) -> Iterator[DiskWait | None]:
        """The same in steps; one that can be called writes a file. An error takes the directory
        offline, unless it may pass: then it is logged."""
        return self._said(self._checkpoints.steps(self.all_logs))

    def keeping_starts(self, logs: Iterable[Log]) -> Iterator[DiskWait | None]:
        """Have a crash find these logs beginning where they begin now. Steps and errors as above:
        a full disk must not keep records from being deleted."""
        keyed = (((log.topic, log.partition), log) for log in logs)
        return self._said(self._checkpoints.starts(keyed))

    def keeping_cleaned(self) -> Iterator[DiskWait | None]:
        """Have a restart know `cleaned_up_to`. Steps and errors as above."""
        return self._said(self._checkpoints.cleaned())

    def _said(self, writes: Iterator[Callable[[], None] | None]) -> Iterator[DiskWait | None]:
        try:
            yield from waited_for(writes)
        except OSError as error:
            if error.errno in PASSING_ERRORS:
                self._trouble.failed(error)
            else:
                self.failed(error)

    def close(self) -> None:
        """Close every log, mark the shutdown as clean, and unlock. If a log cannot be closed, the
        mark is left out: the next start recovers all logs here."""
        for _ in self.closing():
            pass

    def closing(self) -> Iterator[DiskWait | None]:
        """The same in steps, a log each. A step that can be called waits for the disk."""
        try:
            for _ in self.move_deleted():
                yield None
            is_clean = yield from close_logs([log for _, log in self.all_logs], self.files)
            if self.failure is None:
                yield from self._checkpoint_and_mark(is_clean)
        finally:
            self._lock.release()

    def abandoning(self) -> Generator[None]:
        """Unlock, then close all files as they are, as if killed. Nothing may write to them."""
        self._lock.release()
        yield
        for logs in (self.logs, self.future_logs):
            while logs:
                yield from logs.popitem()[1].letting_go()

    def _checkpoint_and_mark(self, is_clean: bool) -> Iterator[DiskWait | None]:
        try:
            yield from waited_for(self._checkpoints.steps(self.all_logs))
            if is_clean:
                mark_clean_shutdown(self.path, self.files, self.broker_epoch)
        except OSError as error:
            _logger.error("%s: not closed cleanly: %s", self.path, error)

    def _log_failed(self, error: OSError) -> None:
        """A log is offline: its directory is, too, unless the trouble may pass, or only a file of
        the log is not there."""
        is_of_a_file = error.errno in ERRORS_OF_A_FILE and self.files.is_directory(self.path)
        if error.errno not in PASSING_ERRORS and (self.fails_with_any_log or not is_of_a_file):
            self.failed(error)

    def failed(self, error: OSError) -> None:
        """The disk broke: every log here goes offline. Those in other directories go on."""
        if self.failure is not None:
            return
        self.failure = error
        _logger.error("%s: offline: %s", self.path, error)
        for _, log in self.all_logs:
            if log.offline_reason is None:
                log.offline_reason = f"data directory {self.path} failed: {error}"
        if self._on_failure is not None:
            self._on_failure(self, error)
