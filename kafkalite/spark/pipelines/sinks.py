"""Sinks of encoded batches: a data directory while no broker runs, or the network.

Into a data directory, a new topic appears whole: its logs are written first, the metadata that
makes it a topic last. Until then their directories have the names of deleted logs, which the next
broker removes. The files are written by kafkalite's own log, so segments, indexes and snapshots are
those of a broker.
"""

from __future__ import annotations

import shutil
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from kafkalite.broker import Broker
from kafkalite.clock import wall_clock_ms
from kafkalite.cluster.topic_creation import NewTopic, TopicCreation
from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.log.checkpoints import write_topic_id
from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import PARTITION_METADATA, Files, deleted_directory
from kafkalite.log.log import Log
from kafkalite.log.meta_properties import read_meta_properties
from kafkalite.log.opening import open_log
from kafkalite.log.truncation import truncate_fully
from kafkalite.requests.slices import at_once
from kafkalite.server.listener import StartError
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import NO_TIMESTAMP, pack_batch

# Records of years ago are to stay.
KEEP_FOREVER: Final = {"retention.ms": "-1"}
# A batch's last offset is kept in 32 bits.
_MOST_OFFSETS: Final = 2**31 - 1
_BASE_OFFSET_AND_EPOCH: Final = struct.Struct(">qii")


class Sink(ABC):
    """Takes the batches of one topic, partition by partition."""

    @abstractmethod
    def end_offset(self, partition: int) -> int:
        """The offset the partition's next record gets."""

    @abstractmethod
    def append(self, partition: int, batch: bytearray, record_count: int) -> int:
        """Append a batch, numbered by the sink; its base offset. Raises PipelineError."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class DataDirectorySink(Sink):
    """A topic in the data directory of a kafkalite that does not run.

    Leaving the `with` statement without an error makes a new topic appear; with one, nothing stays
    of it. A topic that is there must have as many partitions; what is in it stays, and is
    continued.
    """

    def __init__(
        self,
        data_dir: Path,
        topic: str,
        partition_count: int,
        *,
        configs: Mapping[str, str] | None = None,
        start_offsets: Sequence[int] = (),
    ) -> None:
        """
        Args:
            configs: of a topic that is made; retention keeps everything unless told otherwise.
            start_offsets: where the logs of a topic that is made begin, by partition; 0 without.
        """
        self._data_dir = data_dir
        self._topic = topic
        self._partition_count = partition_count
        self._configs = {**KEEP_FOREVER, **(configs or {})}
        self._start_offsets = start_offsets
        self._stack = ExitStack()
        self._logs: list[Log] = []
        self._epochs: list[int] = []
        self._created: list[object] = []
        self._topic_id = UUID(int=0)

    def __enter__(self) -> Self:
        try:
            with ExitStack() as stack:
                self._broker = stack.enter_context(Broker(_config(self._data_dir)))
                self._open_logs(stack)
                self._stack = stack.pop_all()
        except (StartError, ConfigError) as error:
            raise PipelineError(str(error)) from error
        except KafkaError as error:
            raise PipelineError(f"topic {self._topic}: {error}") from error
        return self

    def _open_logs(self, stack: ExitStack) -> None:
        topic = self._broker.services.topics.get(self._topic)
        if topic is not None:
            if len(topic.partitions) != self._partition_count:
                raise PipelineError(
                    f"topic {self._topic} has {len(topic.partitions)} partitions, "
                    f"not {self._partition_count}"
                )
            self._logs = [partition.log for partition in topic.partitions]
            self._epochs = [partition.leader_epoch for partition in topic.partitions]
            for i, start in enumerate(self._start_offsets):
                if not self._logs[i].log_end_offset:
                    truncate_fully(self._logs[i], start, wall_clock_ms())
            return
        creation = TopicCreation(self._broker.services.cluster)
        new = NewTopic(self._topic, self._partition_count, configs=self._configs)
        created, self._created = at_once(creation.records(new))
        self._topic_id = created.topic_id
        stack.callback(self._drop_unless_committed)
        config = self._broker.config.log_config(self._configs)
        directory = self._broker.config.data_directory
        for i in range(self._partition_count):
            name = deleted_directory(f"{self._topic}-{i}")
            log = open_log(directory / name, config, now_ms=wall_clock_ms)
            self._logs.append(log)
            self._epochs.append(0)
            if i < len(self._start_offsets) and self._start_offsets[i]:
                truncate_fully(log, self._start_offsets[i], wall_clock_ms())

    def end_offset(self, partition: int) -> int:
        return self._logs[partition].log_end_offset

    def append(self, partition: int, batch: bytearray, record_count: int) -> int:
        base_offset = self._logs[partition].log_end_offset
        return self._append_at(partition, batch, base_offset)

    def append_in_place(self, partition: int, batch: bytearray) -> int:
        """Append a batch that has its offsets, none below the log's end. Raises PipelineError."""
        return self._append_at(partition, batch, _BASE_OFFSET_AND_EPOCH.unpack_from(batch)[0])

    def fill(self, partition: int, end_offset: int) -> None:
        """Let the log end at `end_offset`, if it ends before: with a batch without records."""
        while (start := self._logs[partition].log_end_offset) < end_offset:
            end = min(end_offset, start + _MOST_OFFSETS)
            self._append_at(partition, bytearray(empty_batch(start, end)), start)

    def _append_at(self, partition: int, batch: bytearray, base_offset: int) -> int:
        log = self._logs[partition]
        if len(batch) > log.config.max_message_bytes:
            raise PipelineError(
                f"a batch of {len(batch)} bytes is more than max.message.bytes of topic "
                f"{self._topic}, {log.config.max_message_bytes}"
            )
        _, length, _ = _BASE_OFFSET_AND_EPOCH.unpack_from(batch)
        _BASE_OFFSET_AND_EPOCH.pack_into(batch, 0, base_offset, length, self._epochs[partition])
        try:
            log.append_as_follower(batch)
            log.advance_high_watermark(log.log_end_offset)
        except KafkaError as error:
            raise PipelineError(f"{self._topic}-{partition}: {error}") from error
        return base_offset

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._created:
                self._commit()
        finally:
            self._stack.__exit__(kind, error, traceback)

    def _commit(self) -> None:
        """The logs onto the disk, whole; then the records that make them a topic."""
        files = Files()
        try:
            for i, log in enumerate(self._logs):
                log.close()
                write_topic_id(files, log.directory / PARTITION_METADATA, self._topic_id)
                files.sync_directory(log.directory)
                files.rename(log.directory, log.directory.with_name(f"{self._topic}-{i}"))
            files.sync_directory(self._broker.config.data_directory)
            created, self._created = self._created, []
            self._broker.services.cluster.write(created)
        except (KafkaError, OSError) as error:
            raise PipelineError(f"topic {self._topic} could not be written: {error}") from error

    def _drop_unless_committed(self) -> None:
        if self._created:
            for log in self._logs:
                log.close_files()
                with suppress(OSError):
                    shutil.rmtree(log.directory)


def empty_batch(base_offset: int, end_offset: int) -> bytes:
    """A batch without records that takes the offsets [base_offset, end_offset), as compaction
    leaves."""
    return pack_batch(
        b"",
        base_offset=base_offset,
        last_offset_delta=end_offset - 1 - base_offset,
        record_count=0,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
    )


def open_sink(
    data_dir: str | Path | None,
    bootstrap: str | None,
    topic: str,
    partition_count: int,
    *,
    configs: Mapping[str, str] | None = None,
    start_offsets: Sequence[int] = (),
) -> Sink:
    """A sink for whichever is given. Raises PipelineError when it is not just one."""
    if (data_dir is None) == (bootstrap is None):
        raise PipelineError("either a data directory is named, or a bootstrap address")
    if data_dir is not None:
        path = local_path(data_dir)
        return DataDirectorySink(
            path, topic, partition_count, configs=configs, start_offsets=start_offsets
        )
    from kafkalite.spark.pipelines.network import NetworkSink

    assert bootstrap is not None
    return NetworkSink(bootstrap, topic, partition_count, configs=configs)


def _config(data_dir: Path) -> BrokerConfig:
    """Sink of a broker that is open but does not serve: its listener is bound, and no client is
    answered."""
    properties = {"log.dirs": str(data_dir), "listeners": "PLAINTEXT://127.0.0.1:0"}
    if data_dir.exists():
        if not data_dir.is_dir():
            raise PipelineError(f"{data_dir} is not a directory")
        try:
            stored = read_meta_properties(data_dir, Files())
        except (InconsistentDataDirectory, OSError) as error:
            raise PipelineError(str(error)) from error
        if stored is not None:
            properties["node.id"] = str(stored.node_id)
        elif any(data_dir.iterdir()):
            raise PipelineError(f"{data_dir} is not empty, and no data directory of a broker")
    return BrokerConfig(properties)
