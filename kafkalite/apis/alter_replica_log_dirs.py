"""AlterReplicaLogDirs (key 34), versions 1-2: move replicas between data directories (KIP-113).

A replica that lies where it is asked to lie stays; one that is to move elsewhere cannot, yet:
KAFKA_STORAGE_ERROR. A directory that is none of ours is LOG_DIR_NOT_FOUND.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.context import RequestContext
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.broker import Broker


async def handle(
    broker: Broker, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name)
            )
            for index in topic.partitions:
                code = _check(broker, context.node_id, directory.path, topic.name, index)
                result.partitions.append(
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                )
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _check(broker: Broker, node_id: int, path: str, name: str, index: int) -> ErrorCode:
    manager = broker.logs.manager
    known = {Path(directory.path).absolute() for directory in manager.directories}
    wanted = Path(path)
    if not wanted.is_absolute() or wanted not in known:
        return ErrorCode.LOG_DIR_NOT_FOUND
    topic = broker.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if node_id not in topic.partitions[index].replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    present = manager.directory_of(name, index)
    if present is not None and present.absolute() == wanted:
        return ErrorCode.NONE
    return ErrorCode.KAFKA_STORAGE_ERROR
