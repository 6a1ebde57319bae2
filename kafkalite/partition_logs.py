"""The logs of all partitions: where `Topics` asks for one, and never sees a path."""

from __future__ import annotations

import logging
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory, remove_tree
from kafkalite.log.log import Log
from kafkalite.log.manager import LogManager
from kafkalite.log.open_files import OpenFiles
from kafkalite.metadata.metadata_log import METADATA_TOPIC
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.metadata.image import MetadataImage

logger = logging.getLogger(__name__)

# The metadata log lies beside the partitions, and keeps everything.
_METADATA_CONFIG: Final = LogConfig(
    retention_ms=-1, retention_bytes=-1, max_message_bytes=2**31 - 1
)


class PartitionLogs:
    """Every log of this process' data directories, which are locked until `close`.

    Raises OSError, and DataDirectoryInUse or InconsistentDataDirectory of `log.errors`.
    """

    def __init__(self, config: BrokerConfig, now_ms: Callable[[], int]) -> None:
        open_files = OpenFiles()
        directories: list[LogDirectory] = []
        cluster_id = config.string("kafkalite.cluster.id")
        try:
            for path in config.items("log.dirs") or config.items("log.dir"):
                directory = LogDirectory.open(
                    Path(path),
                    cluster_id=cluster_id,
                    node_id=config.node_id,
                    now_ms=now_ms,
                    open_files=open_files,
                )
                cluster_id = directory.cluster_id
                directories.append(directory)
        except BaseException:
            LogManager(directories).close()
            raise
        self.manager = LogManager(directories)
        self.cluster_id = directories[0].cluster_id
        # 22 characters of base64 are 16 bytes.
        self.directory_id = UUID(bytes=urlsafe_b64decode(directories[0].directory_id + "=="))

    def open_metadata(self) -> Log:
        """The log of the cluster's metadata. Raises KafkaError."""
        return self.manager.open_log(METADATA_TOPIC, 0, _METADATA_CONFIG)

    def remove_strays(self, image: MetadataImage) -> None:
        """Remove the logs of partitions that do not exist: a deletion that a crash cut short.

        Raises OSError.
        """
        for stored in self.manager.stored_partitions():
            if stored.topic == METADATA_TOPIC:
                continue
            topic = image.topics.get(stored.topic)
            if (
                topic is None
                or stored.partition >= len(topic.partitions)
                or stored.topic_id not in (None, topic.topic_id)
            ):
                logger.warning("%s: belongs to no topic, removed", stored.path)
                remove_tree(self.manager.directories[0].files, stored.path)

    def open(self, topic: str, topic_id: UUID, index: int, config: LogConfig) -> Log:
        """The log of a partition, new or as it was. Raises KafkaError."""
        return self.manager.open_log(topic, index, config, topic_id=topic_id)

    def delete(self, topic: str, index: int, log: Log) -> None:
        """Its partition is gone: so is the log, and after file.delete.delay.ms so are its files."""
        try:
            self.manager.delete_log(topic, index)
        except KafkaError as error:
            logger.error("the log of %s-%d is left behind: %s", topic, index, error)

    def close(self) -> None:
        """Close all logs, and give the directories back."""
        self.manager.close()
