"""ReadShareGroupStateSummary (key 87), versions 0-1: where share groups are with partitions
(KIP-932); v1 has the delivery complete count (KIP-1226).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import Answer, ask_each
from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.wire.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        services.share,
        context.node_id,
        request.group_id,
        request.topics,
        "read share group state summary",
        lambda key, asked: coordinator.summary(key) or ShareState(),
    )
    answered = await in_slices(asking, context)
    return ReadShareGroupStateSummaryResponse(
        results=await in_slices(mapped_in_steps(_told, answered), context)
    )


def _told(answered: tuple[UUID, list[Answer[ShareState]]]) -> Steps[ReadStateSummaryResult]:
    topic_id, answers = answered
    return ReadStateSummaryResult(
        topic_id=topic_id, partitions=(yield from mapped(_result, answers))
    )


def _result(answer: Answer[ShareState]) -> PartitionResult:
    state = answer.result
    if state is None:
        return PartitionResult(
            partition=answer.partition,
            error_code=answer.error_code,
            error_message=answer.error_message,
        )
    return PartitionResult(
        partition=answer.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
