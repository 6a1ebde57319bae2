"""ReadShareGroupState (key 84), version 0: the state of share partitions (KIP-932).

Asked by leaders of share partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import Answer, ask_each
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.wire.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkalite.coordinators.share_coordinator.share_state import ShareState
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        services.share,
        context.node_id,
        request.group_id,
        request.topics,
        "read share group state",
        lambda key, asked: coordinator.read(key, asked.leader_epoch),
    )
    answered = await in_slices(asking, context)
    return ReadShareGroupStateResponse(
        results=await in_slices(mapped_in_steps(_told, answered), context)
    )


def _told(answered: tuple[UUID, list[Answer[ShareState]]]) -> Steps[ReadStateResult]:
    topic_id, answers = answered
    return ReadStateResult(topic_id=topic_id, partitions=(yield from mapped(_result, answers)))


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
        start_offset=state.start_offset,
        state_batches=[
            StateBatch(
                first_offset=first, last_offset=last, delivery_state=how, delivery_count=count
            )
            for first, last, how, count in state.batches
        ],
    )
