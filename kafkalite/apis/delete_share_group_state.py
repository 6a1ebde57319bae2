"""DeleteShareGroupState (key 86), version 0: the state of share partitions is forgotten (KIP-932).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.requests.slices import in_slices
from kafkalite.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteShareGroupStateRequest
) -> DeleteShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        *(services.share, context, request),
        lambda key, asked: coordinator.delete(key),
        DeleteStateResult,
        PartitionResult,
    )
    return DeleteShareGroupStateResponse(results=await in_slices(asking, context))
