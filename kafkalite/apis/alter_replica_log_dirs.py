"""AlterReplicaLogDirs (key 34), versions 1-2: move replicas between data directories (KIP-113).

The answer comes when a move has begun; DescribeLogDirs shows how far it is. A partition that does
not exist yet is refused, but will be made there. Who may ask for what: log_moves.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, cut, in_slices, release_dict
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    results = await in_slices(_request_moves(services, context, request), context)
    return AlterReplicaLogDirsResponse(results=results)


def _request_moves(
    services: Services, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> Steps[list[AlterReplicaLogDirTopicResult]]:
    wanted: dict[tuple[str, int], str] = {}
    for directory in request.dirs:
        yield
        for topic in directory.topics:
            for some in cut(topic.partitions):
                wanted.update(((topic.name, index), directory.path) for index in some)
                yield
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (name, index), path in wanted.items():
        yield
        result = results.setdefault(name, AlterReplicaLogDirTopicResult(topic_name=name))
        code = ErrorCode.NONE
        try:
            services.replica_moves.request(context.node_id, name, index, path)
        except KafkaError as error:
            code = error.code
        result.partitions.append(
            AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        )
    yield from release_dict(wanted)
    return list(results.values())
