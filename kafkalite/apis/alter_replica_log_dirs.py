"""AlterReplicaLogDirs (key 34), versions 1-2: move replicas between data directories (KIP-113).

The answer comes when a move has begun; DescribeLogDirs shows how far it is. A partition that does
not exist yet is refused, but will be made there. Who may ask for what: log_moves.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (name, index), path in wanted.items():
        result = results.setdefault(name, AlterReplicaLogDirTopicResult(topic_name=name))
        code = ErrorCode.NONE
        try:
            services.replica_moves.request(context.node_id, name, index, path)
        except KafkaError as error:
            code = error.code
        result.partitions.append(
            AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        )
    return AlterReplicaLogDirsResponse(results=list(results.values()))
