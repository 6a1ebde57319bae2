"""DescribeLogDirs (key 35), versions 1-5: the data directories, and what lies in them (KIP-113).

- `topics` null means all; partitions that are not here are silently missing.
- A log on its way to another directory is in both: there with `is_future_key`, and an offset lag.
- v3: an error for the whole answer; v4: size and free space of the volume (KIP-827); v5: whether
  the directory takes no new partitions (KIP-1066).

Every node of this process answers for the partitions it holds a replica of: they share the files.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, briefly_or_in_slices, cut, mapped_in_steps, release_set
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from kafkalite.log.directory import LogDirectory
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    results = await briefly_or_in_slices(_describe_all(services, context, request), context)
    return DescribeLogDirsResponse(error_code=ErrorCode.NONE, results=results)


def _describe_all(
    services: Services, context: RequestContext, request: DescribeLogDirsRequest
) -> Steps[list[DescribeLogDirsResult]]:
    wanted: set[tuple[str, int]] | None = None
    if request.topics is not None:
        wanted = set()
        for item in request.topics:
            for some in cut(item.partitions):
                wanted.update((item.topic, index) for index in some)
                yield
    manager = services.logs.manager
    describe = partial(_describe, services, context.node_id, wanted)
    results = yield from mapped_in_steps(describe, manager.directories)
    if wanted is not None:
        yield from release_set(wanted)
    return results + [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(path))
        for path in manager.failed
    ]


def _describe(
    services: Services,
    node_id: int,
    wanted: set[tuple[str, int]] | None,
    directory: LogDirectory,
) -> Steps[DescribeLogDirsResult]:
    path = Path(directory.path).absolute()
    result = DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=str(path),
        is_cordoned=services.config.is_cordoned(directory.path, node_id),
    )
    if directory.failure is not None:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return result
    volume = os.statvfs(path)
    result.total_bytes = volume.f_frsize * volume.f_blocks
    result.usable_bytes = volume.f_frsize * volume.f_bavail
    topics: dict[str, DescribeLogDirsTopic] = {}
    for (name, index), log in list(directory.all_logs):
        yield
        topic = services.topics.get(name)
        if topic is None or (wanted is not None and (name, index) not in wanted):
            continue
        if node_id not in topic.partitions[index].replicas:
            continue
        move = services.logs.manager.moves.get((name, index))
        if move is not None and move.future is not log:
            move = None
        described = topics.setdefault(name, DescribeLogDirsTopic(name=name))
        described.partitions.append(
            DescribeLogDirsPartition(
                partition_index=index,
                partition_size=log.size_bytes,
                offset_lag=0 if move is None else move.lag,
                is_future_key=move is not None,
            )
        )
    result.topics = list(topics.values())
    return result
