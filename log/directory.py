"""A data directory (one of `log.dirs`): the logs in it, and the files they share.

`meta.properties` says whose it is, `.lock` that a living broker holds it, `.kafka_cleanshutdown` that the
last one closed its logs. The checkpoints hold, for each partition, what a restart must know: up to where the
log is on the disk, where it starts, and how far consumers were allowed to see. All in Kafka's formats.
Source: Kafka's LogManager, BrokerMetadataCheckpoint, CleanShutdownFileHandler.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.checkpoints import (
    CorruptCheckpoint,
    TopicPartition,
    read_offsets,
    read_topic_id,
    write_offsets,
    write_topic_id,
)
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import DataDirectoryInUse, InconsistentDataDirectory
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    DELETED_DIRECTORY_SUFFIX,
    HIGH_WATERMARK_CHECKPOINT,
    LOCK,
    LOG_START_OFFSET_CHECKPOINT,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    Files,
    deleted_directory,
    future_directory,
    parse_partition_directory,
    stray_directory,
    without_future,
)
from kafkalite.log.log import Log
from kafkalite.log.meta_properties import (
    MetaProperties,
    random_id,
    read_meta_properties,
    write_meta_properties,
)
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.log.said_once import SaidOnce
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logging.getLogger(__name__)

# From so many logs on, one sync(2) of everything is faster at the end than a few fsyncs for each.
_SYNC_AT_ONCE = 100

# fcntl's locks do not hold within a process: several brokers in one are told apart here.
_locked_here: set[Path] = set()


class StoredPartition(NamedTuple):
    """A partition's directory as it was found; a future one was on its way here (moving.py)."""

    topic: str
    partition: int
    topic_id: uuid.UUID | None
    path: Path
    is_future: bool = False


class LogDirectory:
    """One data directory, locked, with its logs. Made by `LogDirectory.open`."""

    def __init__(
        self,
        path: Path,
        properties: MetaProperties,
        lock_descriptor: int,
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
        # Why nothing here works any more; None while all is well.
        self.failure: OSError | None = None
        self._lock_descriptor = lock_descriptor
        self._on_failure = on_failure
        self._deleted: list[tuple[int, Path]] = []
        # Of the broker that closed the directory last; -1 if it had none, or did not close it.
        self.previous_broker_epoch = -1
        # What is said when it is closed: controllers know a clean shutdown by it (KIP-966).
        self.broker_epoch = -1
        # What was written to the checkpoints last.
        self._checkpointed: dict[str, dict[TopicPartition, int]] = {}
        # What passes, a full disk, say: said once for all logs here.
        self._trouble = SaidOnce(str(path), _logger, logging.WARNING)
        self.was_clean_shutdown = self._take_clean_shutdown()
        self._recovery_points = self._read_checkpoint(RECOVERY_POINT_CHECKPOINT)
        self._log_start_offsets = self._read_checkpoint(LOG_START_OFFSET_CHECKPOINT)
        self._high_watermarks = self._read_checkpoint(HIGH_WATERMARK_CHECKPOINT)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        cluster_id: str | None,
        node_id: int,
        now_ms: Callable[[], int],
        open_files: OpenFiles | None = None,
        on_failure: Callable[[LogDirectory, OSError], None] | None = None,
    ) -> LogDirectory:
        """Lock a data directory, made if it is not there, and read what the last broker left.

        Args:
            cluster_id: what it must belong to; None: whatever it belongs to, or a new id.
            on_failure: told when the disk breaks; every log here is offline then.

        Raises:
            DataDirectoryInUse: a living broker has it.
            InconsistentDataDirectory: it is another cluster's or node's.
            OSError: it cannot be read or written.
        """
        open_files = OpenFiles() if open_files is None else open_files
        files = open_files.files
        files.make_directory(path)
        path = path.resolve()
        descriptor = _lock(path)
        try:
            properties = read_meta_properties(path, files)
            if properties is None:
                properties = MetaProperties(cluster_id or random_id(), node_id, "")
            if not properties.directory_id:  # new, or from before Kafka 3.7
                properties = properties._replace(directory_id=random_id())
                write_meta_properties(path, properties, files)
            if cluster_id is not None and properties.cluster_id != cluster_id:
                raise InconsistentDataDirectory(
                    f"{path} belongs to cluster {properties.cluster_id}, not {cluster_id}"
                )
            if properties.node_id != node_id:
                raise InconsistentDataDirectory(
                    f"{path} belongs to node {properties.node_id}, not {node_id}"
                )
            return cls(
                path,
                properties,
                descriptor,
                now_ms=now_ms,
                open_files=open_files,
                on_failure=on_failure,
            )
        except BaseException:
            _unlock(path, descriptor)
            raise

    def __repr__(self) -> str:
        return f"LogDirectory({str(self.path)!r}, {len(self.logs)} logs)"

    def _take_clean_shutdown(self) -> bool:
        """Whether the last shutdown was clean; from now on it is not. Raises OSError."""
        path = self.path / CLEAN_SHUTDOWN
        if not self.files.exists(path):
            return False
        with suppress(OSError, ValueError, TypeError):  # an older broker's is empty
            self.previous_broker_epoch = int(json.loads(self.files.read(path))["brokerEpoch"])
        self.files.unlink(path)
        self.files.sync_directory(self.path)
        return True

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self.files, self.path / name)
        except CorruptCheckpoint as error:
            # Starting from nothing costs time (everything is scanned) but loses no record.
            _logger.warning("%s", error)
            return {}

    # -- logs

    def partitions(self) -> list[StoredPartition]:
        """The partitions that have a directory here; logs deleted but not yet removed go now.

        Raises:
            OSError: the directory cannot be read.
        """
        found: list[StoredPartition] = []
        for name in self.files.names(self.path):
            if name.endswith(DELETED_DIRECTORY_SUFFIX):
                self._deleted.append((0, self.path / name))
            current_name = without_future(name)
            parsed = parse_partition_directory(current_name)
            if parsed is None:
                continue
            path = self.path / name
            try:
                topic_id = read_topic_id(self.files, path / PARTITION_METADATA)
            except CorruptCheckpoint as error:
                _logger.warning("%s", error)
                topic_id = None
            found.append(StoredPartition(*parsed, topic_id, path, current_name != name))
        for _ in self.remove_deleted():
            pass
        return found

    def open_log(
        self, topic: str, partition: int, config: LogConfig, *, topic_id: uuid.UUID | None = None
    ) -> Log:
        """Open a partition's log, new or old, from where its checkpoints say.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, the directory or this log is broken; INCONSISTENT_TOPIC_ID, the
                log is one of another topic of that name.
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
        """A log that is to come here: new, or at `path` as a restart found it. Raises as `open_log`."""
        path = self.path / future_directory(topic, partition) if path is None else path
        log = self._open(path, (topic, partition), config, topic_id)
        self.future_logs[topic, partition] = log
        return log

    def _open(
        self, path: Path, key: TopicPartition, config: LogConfig, topic_id: uuid.UUID | None
    ) -> Log:
        if self.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {self.failure}")
        try:
            self.files.make_directory(path)
            if topic_id is not None:
                self._keep_topic_id(path, topic_id)
            log = open_log(
                path,
                config,
                now_ms=self.now_ms,
                open_files=self.open_files,
                log_start_offset=self._log_start_offsets.get(key, 0),
                recovery_point=self._recovery_points.get(key, 0),
                clean_shutdown=self.was_clean_shutdown,
                on_failure=self.failed,
                trouble=self._trouble,
            )
        except (OSError, CorruptCheckpoint) as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error
        log.advance_high_watermark(self._high_watermarks.get(key, 0))
        return log

    def _keep_topic_id(self, path: Path, topic_id: uuid.UUID) -> None:
        file = path / PARTITION_METADATA
        try:
            kept = read_topic_id(self.files, file)
        except CorruptCheckpoint as error:  # the power went before it was on the disk
            _logger.warning("%s", error)
            kept = None
        if kept is None:
            write_topic_id(self.files, file, topic_id)
        elif kept != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"{path}: the log is of topic id {kept}, not {topic_id}",
            )

    def topic_id(self, topic: str, partition: int) -> uuid.UUID | None:
        """The topic id that is noted beside a log. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        path = self.logs[topic, partition].directory / PARTITION_METADATA
        try:
            return read_topic_id(self.files, path)
        except (OSError, CorruptCheckpoint) as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path}: {error}") from error

    def delete_log(self, topic: str, partition: int) -> None:
        """Delete a log: out of the way at once, removed after `file.delete.delay.ms` (`remove_deleted`).

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): it is still there.
        """
        self._delete(self.logs.pop((topic, partition)))

    def delete_future(self, topic: str, partition: int) -> None:
        """The same with a log that was to come here."""
        self._delete(self.future_logs.pop((topic, partition)))

    def _delete(self, log: Log) -> None:
        path = log.delete()
        self._deleted.append((self.now_ms() + log.config.file_delete_delay_ms, path))
        for checkpoint in (self._recovery_points, self._log_start_offsets, self._high_watermarks):
            checkpoint.pop((log.topic, log.partition), None)

    def discard(self, path: Path) -> None:
        """Take a directory that is no log's out of the way, and then away. Raises OSError."""
        target = path.with_name(deleted_directory(without_future(path.name)))
        self.files.rename(path, target)
        self._deleted.append((0, target))

    def set_aside(self, path: Path) -> Path:
        """Rename a directory that is no log's, never to be looked at again. Raises OSError."""
        target = path.with_name(stray_directory(without_future(path.name)))
        self.files.rename(path, target)
        return target

    @property
    def all_logs(self) -> Iterator[tuple[TopicPartition, Log]]:
        """Every log whose files are here; a partition has one at most."""
        return chain(list(self.logs.items()), list(self.future_logs.items()))

    def remove_deleted(self) -> Iterator[object]:
        """Remove the deleted logs whose delay has passed, one a step.

        What cannot be removed is tried again the next time.
        """
        now_ms = self.now_ms()
        due = [each for each in self._deleted if each[0] <= now_ms]
        self._deleted = [each for each in self._deleted if each[0] > now_ms]
        for deadline_ms, path in due:
            try:
                remove_tree(self.files, path)
            except OSError as error:
                if self.failure is None:
                    self._trouble.failed(error)
                    self._deleted.append((deadline_ms, path))
            yield path

    # -- checkpoints, closing

    def checkpoint(self) -> None:
        """Write the three checkpoints. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        try:
            for step in self._checkpoint_steps():
                if callable(step):
                    step()
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {error}") from error

    def checkpoint_steps(self) -> Iterator[object]:
        """The same in steps; those that are to be called write, and say what goes wrong."""
        for step in self._checkpoint_steps():
            yield partial(self._written, step) if callable(step) else step

    def _written(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            self._trouble.failed(error)

    def _checkpoint_steps(self) -> Iterator[object]:
        """Gather what has changed, a log a step; then write what that makes different."""
        starts: dict[TopicPartition, int] = {}
        for key, log in self.all_logs:
            if log.offline_reason is None:
                self._recovery_points[key] = log.recovery_point
                self._log_start_offsets[key] = log.log_start_offset
                self._high_watermarks[key] = log.high_watermark
                # Kafka leaves out starts that the first segment's name tells.
                if log.log_start_offset > log.segments.first.base_offset:
                    starts[key] = log.log_start_offset
            yield None
        for key, offset in self._log_start_offsets.items():
            if key not in self.logs and key not in self.future_logs:
                starts[key] = offset
        for name, offsets in (
            (RECOVERY_POINT_CHECKPOINT, self._recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, starts),
            (HIGH_WATERMARK_CHECKPOINT, self._high_watermarks),
        ):
            if self._checkpointed.get(name) != offsets:
                yield partial(self._write_checkpoint, name, dict(offsets))

    def _write_checkpoint(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Write one checkpoint; may be called in a thread. Raises OSError."""
        write_offsets(self.files, self.path / name, offsets)
        self._checkpointed[name] = offsets

    def close(self) -> None:
        """Close every log and say so on the disk; unlock.

        A log that cannot be closed is recovered at the next start, and so are all others here.
        """
        try:
            is_clean = self._close_logs()
            if self.failure is None:
                self._checkpoint_and_mark(is_clean)
        finally:
            _unlock(self.path, self._lock_descriptor)

    def abandon(self) -> None:
        """Let go of all files as they are, as a process does that is killed; unlock."""
        for _, log in self.all_logs:
            log.close_files()
        _unlock(self.path, self._lock_descriptor)

    def _close_logs(self) -> bool:
        """Close them; whether all went well."""
        logs = [log for _, log in self.all_logs]
        unflushed = [log for log in logs if log.recovery_point < log.log_end_offset]
        at_once = len(unflushed) >= _SYNC_AT_ONCE
        is_clean = self.failure is None
        for log in logs:
            try:
                log.close(sync=not at_once)
            except KafkaError as error:
                _logger.error("%s", error)
                is_clean = False
            is_clean = is_clean and log.offline_reason is None
        if at_once and is_clean:
            self.files.sync_everything()
            for log in unflushed:
                log.synced()
        return is_clean

    def _checkpoint_and_mark(self, is_clean: bool) -> None:
        try:
            self.checkpoint()
            if is_clean:
                content = json.dumps(
                    {"version": 0, "brokerEpoch": self.broker_epoch}, separators=(",", ":")
                )
                self.files.write_atomically(self.path / CLEAN_SHUTDOWN, content.encode())
        except (KafkaError, OSError) as error:
            _logger.error("%s: not closed cleanly: %s", self.path, error)

    def failed(self, error: OSError) -> None:
        """The disk broke: every log here goes offline, those in other directories go on."""
        if self.failure is not None:
            return
        self.failure = error
        _logger.error("%s: offline: %s", self.path, error)
        for _, log in self.all_logs:
            if log.offline_reason is None:
                log.offline_reason = f"data directory {self.path} failed: {error}"
        if self._on_failure is not None:
            self._on_failure(self, error)


def remove_tree(files: Files, path: Path) -> None:
    """Remove a directory of files. Raises OSError."""
    for name in files.names(path):
        files.unlink(path / name)
    files.remove_directory(path)


def is_locked_here(path: Path) -> bool:
    """Whether a broker in this process holds the directory: to ask the file would give up its lock."""
    return path.resolve() in _locked_here


def _lock(path: Path) -> int:
    if path in _locked_here:
        raise DataDirectoryInUse(f"{path} is in use by a broker in this process")
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # The lock Java's FileChannel.tryLock takes: Kafka and kafkalite keep each other out.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise DataDirectoryInUse(f"{path} is in use by another broker") from error
    _locked_here.add(path)
    return descriptor


def _unlock(path: Path, descriptor: int) -> None:
    _locked_here.discard(path)
    os.close(descriptor)
