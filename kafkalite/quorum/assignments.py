"""Tells the controllers in which log directory a replica lies, where the metadata say otherwise.

Many are told together: a hundred milliseconds' worth, at most as many as one request may hold.
Source: AssignmentsManager; KIP-858.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.quorum.channel import REQUEST_TIMEOUT_SECONDS, ControllerChannel, NoController
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryDataRequest,
    PartitionDataRequest,
    TopicDataRequest,
)

logger = logger_of(__name__)

TopicIdPartition = tuple[UUID, int]

_MAX_PER_REQUEST: Final = 2250
_BATCH_SECONDS: Final = 0.1
_FIRST_BACKOFF_SECONDS: Final = 0.1
_LAST_BACKOFF_SECONDS: Final = 10.0


class Assignments:
    """Replicas whose directory the controllers do not know yet."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel
    ) -> None:
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._untold: dict[TopicIdPartition, UUID] = {}
        self._wanted = trio.Event()

    def tell(self, topic_id: UUID, index: int, directory_id: UUID) -> None:
        """The replica lies in this directory. The last word of several is told."""
        self._untold[topic_id, index] = directory_id
        self._wanted.set()

    async def run(self) -> None:
        """Tell what is to be told. Ends only when it is cancelled."""
        backoff_seconds = _FIRST_BACKOFF_SECONDS
        while True:
            await self._wanted.wait()
            await trio.sleep(_BATCH_SECONDS)
            if await self._tell_some():
                backoff_seconds = _FIRST_BACKOFF_SECONDS
            else:
                await trio.sleep(backoff_seconds)
                backoff_seconds = min(2 * backoff_seconds, _LAST_BACKOFF_SECONDS)
            if not self._untold:
                self._wanted = trio.Event()

    async def _tell_some(self) -> bool:
        """Tells whether the controllers took all of what was sent."""
        told = dict(islice(self._untold.items(), _MAX_PER_REQUEST))
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch(),
            directories=_by_directory(told),
        )
        try:
            answer = await self._channel.ask(request, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
        except NoController as error:
            logger.info("the directories of replicas are not reported yet: %s", error)
            return False
        if answer.error_code:
            logger.info(
                "the directories of replicas are not reported yet: %s",
                ErrorCode(answer.error_code).name,
            )
            return False
        refused = _refused(answer.directories)
        for key, directory_id in told.items():
            if key not in refused and self._untold.get(key) == directory_id:
                del self._untold[key]
        return not refused


def _by_directory(told: dict[TopicIdPartition, UUID]) -> list[DirectoryDataRequest]:
    directories: dict[UUID, dict[UUID, TopicDataRequest]] = {}
    for (topic_id, index), directory_id in told.items():
        topics = directories.setdefault(directory_id, {})
        topic = topics.setdefault(topic_id, TopicDataRequest(topic_id=topic_id))
        topic.partitions.append(PartitionDataRequest(partition_index=index))
    return [
        DirectoryDataRequest(id=directory_id, topics=list(topics.values()))
        for directory_id, topics in directories.items()
    ]


def _refused(directories: Sequence[Any]) -> set[TopicIdPartition]:
    """The assignments to be told again; a topic that is gone is not among them."""
    gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return {
        (topic.topic_id, partition.partition_index)
        for directory in directories
        for topic in directory.topics
        for partition in topic.partitions
        if partition.error_code not in gone
    }
