"""Moves of partitions between data directories (KIP-113): asked for, carried on in the background,
ended.

The log side is log/future_log.py. This module has the rules for requests (Kafka's
ReplicaManager.alterReplicaLogDirs), the task that copies in slices within
`replica.alter.log.dirs.io.max.bytes.per.second`, and the note in the metadata of where a partition
lies now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Final
from uuid import UUID

import trio

from kafkalite.log.cleaner import Throttle
from kafkalite.log.disk_wait import DiskWait, Waits
from kafkalite.log.files import LONGEST_NAME, future_directory
from kafkalite.log.loggers import logger_of
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.kafka_uuid import parse_kafka_uuid
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.log.directory import LogDirectory
    from kafkalite.log.future_log import LogMove
    from kafkalite.log.log import Log
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.partition_logs import PartitionLogs
    from kafkalite.replica.topics import Topics

logger = logger_of(__name__)

# Requests wait at most about this long for a slice.
_SLICE_SECONDS: Final = 0.01
# A disk that is full, say: the copy waits for room.
_RETRY_SECONDS: Final = 5.0


class ReplicaMoves:
    """All moves of one broker. Goes on with those that a restart found."""

    def __init__(
        self,
        config: BrokerConfig,
        cluster: Cluster,
        topics: Topics,
        logs: PartitionLogs,
        tell_directory: Callable[[UUID, int, UUID], None] | None = None,
    ) -> None:
        """`tell_directory`: where controllers in other processes are to be told of a move's end."""
        self._tell_directory = tell_directory
        self._config = config
        self._cluster = cluster
        self._topics = topics
        self._manager = logs.manager
        self._begun = trio.Event()
        self._manager.resume_moves()

    def request(self, node_id: int, topic: str, index: int, path: str) -> None:
        """Let a replica lie in the data directory at `path`; back where it is, if it is moving.

        Raises KafkaError: INVALID_TOPIC_EXCEPTION (the name leaves no room for a suffix),
        LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE.
        """
        if len(future_directory(topic, index)) > LONGEST_NAME:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        target = self._online_directory(path)
        found = self._topics.get(topic)
        partition = None if found is None else found.partition(index)
        is_elsewhere = partition is not None and not partition.is_here
        if partition is not None and not is_elsewhere and partition.log.offline_reason is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, partition.log.offline_reason)
        move = self._manager.moves.get((topic, index))
        if move is not None and move.target_directory is not target:
            self._manager.cancel_move(topic, index)
            move = None
        if partition is None or is_elsewhere:  # it lies there once it is here
            self._manager.prefer(topic, index, target)
        if partition is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if is_elsewhere or node_id not in partition.replicas:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE)
        if move is not None or self._manager.directory_of(topic, index) == target.path:
            return
        if self._config.is_cordoned(target.path, node_id):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{target.path} is cordoned")
        if self._manager.has_failed:
            # Kafka's rule: a copy may lie in the directory that does not work.
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "a data directory is offline")
        move = self._manager.begin_move(topic, index, target)
        logger.info("%r begins", move)
        self._begun.set()

    def _online_directory(self, path: str) -> LogDirectory:
        directory = self._manager.directory_at(path)
        if directory is None and path not in map(str, self._manager.failed):
            raise KafkaError(
                ErrorCode.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config."
            )
        if directory is None or directory.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Log directory {path} is offline")
        return directory

    async def run(self) -> None:
        """Carry moves on, one after the other, whenever there are any."""
        while True:
            while self._manager.moves:
                move = next(iter(self._manager.moves.values()))
                try:
                    await self._carry(move)
                except KafkaError as error:
                    await self._failed(move, error)
                if move.is_assigned and not (move.has_finished or self._is_wanted(move)):
                    await self._assign_back(move)
            self._begun = trio.Event()
            await self._begun.wait()

    async def _carry(self, move: LogMove) -> None:
        """Copy until the move ends or is cancelled. Raises KafkaError."""
        # A long copy is flushed as it goes, in a thread, so that there is little left at the end.
        while self._is_wanted(move):
            await self._copy(move)
            if not self._is_wanted(move):
                break
            if move.is_caught_up and move.is_flushed:
                await self._wait_for(move, self._finishing(move))
            elif (flush := move.begin_flush()) is not None:
                await self._wait_for(move, flush.waiting())

    async def _wait_for(self, move: LogMove, waits: Waits[None]) -> None:
        """Have threads wait for the disk, as long as the move is wanted or has finished."""
        with closing(waits):
            for wait in waits:
                await in_disk_thread(wait)
                if not self._is_wanted(move) and not move.has_finished:
                    return

    async def _copy(self, move: LogMove) -> None:
        """Copy all that is there now, or until much is to be flushed. Raises KafkaError."""
        throttle = Throttle(
            max(1, self._config.integer("replica.alter.log.dirs.io.max.bytes.per.second")),
            trio.current_time(),
        )
        began = time.perf_counter()
        while self._is_wanted(move):
            with closing(move.stepping()) as steps:
                size = await in_slices_of_task(steps)
            if move.is_caught_up:
                return
            wait = throttle.wait_s(size, trio.current_time())
            if wait or time.perf_counter() - began > _SLICE_SECONDS:
                await trio.sleep(wait)
                began = time.perf_counter()

    def _is_wanted(self, move: LogMove) -> bool:
        return self._manager.moves.get(move.key) is move

    def _finishing(self, move: LogMove) -> Waits[None]:
        """The last step: the future log becomes the partition's log."""

        def assign(directory: LogDirectory) -> Waits[None]:
            return self._assigning(move, directory)

        def switched(log: Log) -> None:
            partition = self._partition_of(move)
            if partition is not None:
                partition.log_moved(log)
            logger.info("%r is done", move)

        return self._manager.finishing_move(move, assign, switched)

    def _partition_of(self, move: LogMove) -> Partition | None:
        """None if the topic is deleted, which ends its moves, too."""
        name, index = move.key
        topic = self._topics.get(name)
        return None if topic is None else topic.partitions[index]

    def _assigning(self, move: LogMove, directory: LogDirectory) -> Waits[None]:
        """Have the metadata say where the log lies. Every replica of this process shares it."""
        partition = self._partition_of(move)
        if partition is None:
            return
        directory_id = parse_kafka_uuid(directory.directory_id)
        if self._tell_directory is not None:
            self._tell_directory(partition.topic_id, partition.index, directory_id)
            return
        change = PartitionChangeRecord(
            partition_id=partition.index,
            topic_id=partition.topic_id,
            directories=[directory_id] * len(partition.replicas),
        )
        for wait in self._cluster.writing([change]):
            if wait is not None:
                yield DiskWait(wait)

    async def _assign_back(self, move: LogMove) -> None:
        """The move ends where it began, but the metadata name the other directory already."""
        move.is_assigned = False
        for wait in self._assigning(move, move.source_directory):
            await in_disk_thread(wait)

    async def _failed(self, move: LogMove, error: KafkaError) -> None:
        if not self._is_wanted(move):
            return
        is_broken = move.future.offline_reason or move.source.offline_reason
        if error.code is ErrorCode.KAFKA_STORAGE_ERROR and not is_broken:
            await trio.sleep(_RETRY_SECONDS)
            return
        logger.error("%r ends: %s", move, error)
        try:
            self._manager.cancel_move(*move.key)
        except KafkaError as another:
            logger.error("%r is not cleared away: %s", move, another)
