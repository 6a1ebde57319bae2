"""InitializeShareGroupState (key 83), version 0: the state of share partitions begins anew
(KIP-932).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import Answer, ask_each
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        services.share,
        context.node_id,
        request.group_id,
        request.topics,
        "initialize share group state",
        lambda key, asked: coordinator.initialize(key, asked.state_epoch, asked.start_offset),
    )
    answered = await in_slices(asking, context)
    return InitializeShareGroupStateResponse(
        results=await in_slices(mapped_in_steps(_told, answered), context)
    )


def _told(answered: tuple[UUID, list[Answer[None]]]) -> Steps[InitializeStateResult]:
    topic_id, answers = answered
    return InitializeStateResult(
        topic_id=topic_id, partitions=(yield from mapped(_result, answers))
    )


def _result(answer: Answer[None]) -> PartitionResult:
    return PartitionResult(
        partition=answer.partition,
        error_code=answer.error_code,
        error_message=answer.error_message,
    )
