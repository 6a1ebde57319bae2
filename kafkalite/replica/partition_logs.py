"""The logs of all partitions: where `Topics` asks for one, and never sees a path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.cluster.ids import seeded_id
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import DiskWait
from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import FILES, Files, StoredPartition
from kafkalite.log.log import Log
from kafkalite.log.log_state import PASSING_ERRORS
from kafkalite.log.loggers import logger_of
from kafkalite.log.manager import LogManager
from kafkalite.log.open_files import OpenFiles, SegmentWatcher
from kafkalite.log.opening import offline_log
from kafkalite.log.said_once import SaidOnce
from kafkalite.requests.topic_names import METADATA_TOPIC
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.kafka_uuid import kafka_uuid, parse_kafka_uuid

if TYPE_CHECKING:
    from kafkalite.cluster.image import MetadataImage, PartitionState
    from kafkalite.config import BrokerConfig

logger = logger_of(__name__)

# Below are ids that say something else: not assigned, lost, to be found out (Kafka's DirectoryId).
_FIRST_DIRECTORY_ID: Final = 100


class PartitionLogs:
    """Every log of this process' data directories, which are locked until `close`.

    A directory that cannot be opened is left out, and its partitions are offline; the first one
    holds the metadata, and must work.

    Raises OSError, and DataDirectoryInUse or InconsistentDataDirectory of `log.errors`.
    """

    def __init__(
        self, config: BrokerConfig, now_ms: Callable[[], int], files: Files = FILES
    ) -> None:
        self._config = config
        self._now_ms = now_ms
        self._open_files = OpenFiles(files=files)
        # Partitions whose logs could not be opened, by name.
        self._offline: dict[str, SaidOnce] = {}
        self._closing: Iterator[DiskWait | None] | None = None
        # Told of each directory whose disk breaks.
        self.failed_directory: Callable[[Path, OSError], None] | None = None
        directories: list[LogDirectory] = []
        failed: dict[Path, OSError] = {}
        cluster_id = config.string("kafkalite.cluster.id")
        try:
            for number, path in enumerate(config.log_dirs):
                try:
                    directory = LogDirectory.open(
                        Path(path),
                        cluster_id=cluster_id,
                        node_id=config.node_id,
                        now_ms=now_ms,
                        new_id=seeded_id(config.seed, f"directory {number}"),
                        open_files=self._open_files,
                        on_failure=self._failed,
                    )
                except OSError as error:
                    if not directories:
                        raise
                    logger.error("%s: offline: %s", path, error)
                    failed[Path(path).absolute()] = error
                    continue
                cluster_id = directory.cluster_id
                directories.append(directory)
        except BaseException:
            LogManager(directories).close()
            raise
        self.manager = LogManager(directories, failed)
        self.cluster_id = directories[0].cluster_id
        self.directory_ids = [parse_kafka_uuid(directory.directory_id) for directory in directories]

    def watch_segments(self, watcher: SegmentWatcher) -> None:
        """Tell of each segment that is rolled or deleted."""
        self._open_files.segment_watcher = watcher

    def fail_with_any_log(self) -> None:
        """From now on a directory fails with the first log that cannot be opened, so that others
        lead what lies there (LogManager.getOrCreateLog)."""
        for directory in self.manager.directories:
            directory.fails_with_any_log = True

    def _failed(self, directory: LogDirectory, error: OSError) -> None:
        if self.failed_directory is not None:
            self.failed_directory(directory.path, error)

    @property
    def previous_broker_epoch(self) -> int:
        """The broker epoch of the last clean shutdown; -1 if a directory was not closed cleanly."""
        return min(each.previous_broker_epoch for each in self.manager.directories)

    def closed_by(self, broker_epoch: int) -> None:
        """The epoch that the next start finds, if the directories are closed cleanly."""
        for directory in self.manager.directories:
            directory.broker_epoch = broker_epoch

    def open_metadata(self) -> Log:
        """The log of the cluster's metadata, beside the partitions.

        It keeps everything, until snapshots say what may go. Raises KafkaError, and
        InconsistentDataDirectory for partitions without metadata: they would belong to no topic,
        and be set aside.
        """
        paths = [directory.path for directory in self.manager.directories]
        is_new = not any((path / f"{METADATA_TOPIC}-0").exists() for path in paths)
        if is_new and self.manager.stored_partitions():
            raise InconsistentDataDirectory(
                f"{paths[0]} has partitions and no metadata: it is the "
                "data directory of a broker under controllers (process.roles=broker)"
            )
        smaller = self._config["internal.metadata.log.segment.bytes"]
        size = smaller or self._config["metadata.log.segment.bytes"]
        assert isinstance(size, int)
        config = LogConfig(
            retention_ms=-1,
            retention_bytes=-1,
            max_message_bytes=2**31 - 1,
            segment_bytes=size,
            segment_ms=self._config.integer("metadata.log.segment.ms"),
        )
        first = self.manager.directories[0]
        return self.manager.open_log(METADATA_TOPIC, 0, config, assigned=[first.directory_id])

    def remove_strays(self, image: MetadataImage) -> None:
        """Remove what a deletion or a creation left that a crash cut short.

        Other logs without a topic are set aside: the metadata may have been lost, not the topic.
        Raises OSError.
        """
        deleted, image.deleted_topic_ids = image.deleted_topic_ids or set(), None
        for stored in self._without(lambda stored: _state_of(stored, image) is not None):
            if stored.topic_id in deleted or self.manager.is_empty(stored):
                logger.warning("%s: belongs to no topic, removed", stored.path)
                self.manager.discard(stored)
            else:
                aside = self.manager.set_aside(stored)
                logger.warning("%s belongs to no topic: renamed to %s", stored.path, aside.name)
        for _ in self.manager.unlink_deleted():
            pass

    def set_strays_aside(self, image: MetadataImage, node_id: int) -> None:
        """Rename the logs of partitions that have no replica here. They are never removed.

        The first start of a data directory in a cluster may meet what was the topics of a broker
        of its own. Raises OSError. Source: LogManager.isStrayReplica, asyncDelete.
        """

        def is_here(stored: StoredPartition) -> bool:
            state = _state_of(stored, image)
            return state is not None and node_id in state.replicas

        for stored in self._without(is_here):
            aside = self.manager.set_aside(stored)
            logger.warning("%s has no replica here: renamed to %s", stored.path, aside.name)

    def _without(self, is_here: Callable[[StoredPartition], bool]) -> list[StoredPartition]:
        """The partitions that were found and that are not here, but for the metadata's."""
        return [
            stored
            for stored in self.manager.stored_partitions()
            if stored.topic != METADATA_TOPIC and not is_here(stored)
        ]

    def directory_id(self, topic: str, index: int) -> UUID | None:
        """The id of the data directory that holds a partition's log; None if none does."""
        path = self.manager.directory_of(topic, index)
        for directory in self.manager.directories:
            if directory.path == path:
                return parse_kafka_uuid(directory.directory_id)
        return None

    def offline_directory_ids(self) -> list[UUID]:
        """The ids of the data directories that failed while they were in use."""
        return [
            parse_kafka_uuid(directory.directory_id)
            for directory in self.manager.directories
            if directory.failure is not None
        ]

    def cordoned_directory_ids(self) -> list[UUID]:
        """The ids of the data directories that get no new partitions (cordoned.log.dirs)."""
        return [parse_kafka_uuid(directory.directory_id) for directory in self._cordoned()]

    def _cordoned(self) -> list[LogDirectory]:
        cordoned = self._config.is_cordoned
        return [each for each in self.manager.directories if cordoned(each.path)]

    def place(self, topic: str, index: int) -> UUID:
        """The id of the directory in which a new partition's log will lie. Raises KafkaError."""
        return parse_kafka_uuid(self.manager.place(topic, index, self._cordoned()).directory_id)

    def all_placed(self) -> None:
        """Partitions that were given a directory are open now, or will never be."""
        self.manager.all_placed()

    def open(
        self,
        topic: str,
        topic_id: UUID,
        index: int,
        config: LogConfig,
        assigned: Collection[UUID] = (),
    ) -> Log:
        """The log of a partition, new or as it was; an offline one if it cannot be opened."""
        directory_ids = [kafka_uuid(each) for each in assigned if each.int >= _FIRST_DIRECTORY_ID]
        name = f"{topic}-{index}"
        try:
            log = self.manager.open_log(
                topic,
                index,
                config,
                topic_id=topic_id,
                assigned=directory_ids,
                avoided=self._cordoned(),
            )
        except KafkaError as error:
            trouble = self._offline.setdefault(
                name, SaidOnce(f"partition {name} is offline", logger)
            )
            trouble.failed(error)
            cause = error.__cause__
            return offline_log(
                (self.manager.directory_of(topic, index) or Path()) / name,
                config,
                error.message or error.code.name,
                now_ms=self._now_ms,
                open_files=self._open_files,
                may_come_back=isinstance(cause, OSError) and cause.errno in PASSING_ERRORS,
            )
        if self._offline.pop(name, None) is not None:
            logger.info("partition %s is back", name)
        return log

    def forgetting(self, topics: Container[str]) -> Generator[DiskWait | None]:
        """Have the disk forget deleted logs of these topics, before new ones of their names are
        opened, which would wait for it."""
        for directory in self.manager.directories:
            if directory.failure is None:
                yield from directory.forgetting(topics)

    def keeping_starts(self, logs: Sequence[Log]) -> Generator[DiskWait | None]:
        """Have a crash find logs beginning where they begin now: what was deleted stays deleted."""
        for directory in self.manager.directories:
            open_here = directory.logs
            here = [log for log in logs if open_here.get((log.topic, log.partition)) is log]
            yield None
            if here and directory.failure is None:
                yield from directory.keeping_starts(here)

    def delete(self, topic: str, index: int, log: Log) -> None:
        """Delete a partition's log at once, and its files after file.delete.delay.ms."""
        try:
            self.manager.delete_log(topic, index)
        except KafkaError as error:
            logger.error("the log of %s-%d is left behind: %s", topic, index, error)

    def abandoning(self) -> Generator[None]:
        """Unlock the directories in the first step, as if the process had been killed; then close
        all files.
        """
        return self.manager.abandoning()

    def close(self) -> None:
        """Close all logs, and give the directories back."""
        for _ in self.closing():
            pass

    def closing(self) -> Iterator[DiskWait | None]:
        """The same in steps.

        Once begun, it goes on where it stopped. A step that can be called waits for the disk.
        """
        if self._closing is None:
            self._closing = self.manager.closing()
        return self._closing


def _state_of(stored: StoredPartition, image: MetadataImage) -> PartitionState | None:
    """The partition whose log was found; None if it belongs to no topic that there is."""
    topic = image.topics.get(stored.topic)
    if topic is None or stored.partition >= len(topic.partitions):
        return None
    if stored.topic_id not in (None, topic.topic_id):
        return None
    return topic.partitions[stored.partition]
