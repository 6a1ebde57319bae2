"""InitializeShareGroupState (key 83), version 0: the state of share partitions begins anew
(KIP-932).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.requests.slices import in_slices
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        *(services.share, context, request),
        lambda key, asked: coordinator.initialize(key, asked.state_epoch, asked.start_offset),
        InitializeStateResult,
        PartitionResult,
        needs_partitions=False,
    )
    return InitializeShareGroupStateResponse(results=await in_slices(asking, context))
