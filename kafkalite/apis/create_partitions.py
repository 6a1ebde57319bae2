"""CreatePartitions (key 37), versions 0-3: topics grow (KIP-195).

`count` is the new total. Replicas are chosen, or given for exactly the new partitions; null means
chosen, an empty list means that none are given, which is wrong for any growth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.topic_creation import Growth
from kafkalite.requests.context import RequestContext, check_time
from kafkalite.requests.slices import WaitingSteps, counted, in_slices, release
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    results = await in_slices(_grow_each(services, context, request), context)
    return CreatePartitionsResponse(results=results)


def _grow_each(
    services: Services, context: RequestContext, request: CreatePartitionsRequest
) -> WaitingSteps[list[CreatePartitionsTopicResult]]:
    counts = yield from counted(topic.name for topic in request.topics)
    if 1 in counts.values():
        check_time(request.timeout_ms)
    results: list[CreatePartitionsTopicResult] = []
    for name, count in counts.items():
        yield None
        if count > 1:
            results.append(
                CreatePartitionsTopicResult(
                    name=name,
                    error_code=ErrorCode.INVALID_REQUEST,
                    error_message="Duplicate topic name.",
                )
            )
    growths: list[Growth] = []
    for topic in request.topics:
        yield None
        if counts[topic.name] == 1:
            growths.append(_growth(context, topic))
    validate_only = request.validate_only
    errors = yield from services.topics.growing_all(growths, validate_only=validate_only)
    for growth, error in zip(growths, errors, strict=True):
        yield None
        results.append(
            CreatePartitionsTopicResult(
                name=growth.name,
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message,
            )
        )
    yield from release([growths, errors])
    return results


def _growth(context: RequestContext, topic: CreatePartitionsTopic) -> Growth:
    assignments = (
        None if topic.assignments is None else [item.broker_ids for item in topic.assignments]
    )
    return Growth(topic.name, topic.count, assignments, context.charge)
