"""ReadShareGroupState (key 84), version 0: the state of share partitions (KIP-932).

Asked by leaders of share partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.requests.slices import in_slices
from kafkalite.wire.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

if TYPE_CHECKING:
    from kafkalite.coordinators.share_coordinator.share_state import ShareState
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        *(services.share, context, request),
        lambda key, asked: _fields(coordinator.read(key, asked.leader_epoch)),
        ReadStateResult,
        PartitionResult,
    )
    return ReadShareGroupStateResponse(results=await in_slices(asking, context))


def _fields(state: ShareState) -> dict[str, object]:
    return {
        "state_epoch": state.state_epoch,
        "start_offset": state.start_offset,
        "state_batches": [
            StateBatch(
                first_offset=first, last_offset=last, delivery_state=how, delivery_count=count
            )
            for first, last, how, count in state.batches
        ],
    }
