"""OffsetDelete: forget offsets of topics that no member of the group subscribes to (KIP-496)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkalite.requests.refused_first import refused_first
from kafkalite.requests.slices import Steps, briefly_or_in_slices, mapped, mapped_in_steps
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    return await briefly_or_in_slices(_delete(services, context, request), context)


def _delete(
    services: Services, context: RequestContext, request: OffsetDeleteRequest
) -> Steps[OffsetDeleteResponse]:
    router = services.group_coordinator.offset_router
    try:
        answered = yield from router.deleting(context, request)
    except KafkaError as refused:
        return OffsetDeleteResponse(error_code=refused.code)
    topics = yield from refused_first(answered)
    return OffsetDeleteResponse(topics=(yield from mapped_in_steps(_topic, topics)))


def _topic(row: Sequence[Any]) -> Steps[OffsetDeleteResponseTopic]:
    name, outcomes = row
    return OffsetDeleteResponseTopic(
        name=name, partitions=(yield from mapped(_partition, outcomes))
    )


def _partition(outcome: tuple[int, int]) -> OffsetDeleteResponsePartition:
    index, error_code = outcome
    return OffsetDeleteResponsePartition(partition_index=index, error_code=error_code)
