"""ReadShareGroupStateSummary (key 87), versions 0-1: where share groups are with partitions
(KIP-932); v1 has the delivery complete count (KIP-1226).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.requests.slices import in_slices
from kafkalite.wire.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        *(services.share, context, request),
        lambda key, asked: _fields(coordinator.summary(key) or ShareState()),
        ReadStateSummaryResult,
        PartitionResult,
    )
    return ReadShareGroupStateSummaryResponse(results=await in_slices(asking, context))


def _fields(state: ShareState) -> dict[str, object]:
    return {
        "state_epoch": state.state_epoch,
        "leader_epoch": state.leader_epoch,
        "start_offset": state.start_offset,
        "delivery_complete_count": state.delivery_complete_count,
    }
