"""WriteShareGroupState (key 85), versions 0-1: the state of share partitions changes (KIP-932); v1
has the delivery complete count (KIP-1226).

Asked by leaders of share partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.coordinators.share_coordinator.coordinator import Write
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.requests.slices import in_slices
from kafkalite.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: WriteShareGroupStateRequest
) -> WriteShareGroupStateResponse:
    coordinator = services.share.coordinator
    asking = ask_each(
        *(services.share, context, request),
        lambda key, asked: coordinator.write(key, _write(asked)),
        WriteStateResult,
        PartitionResult,
    )
    return WriteShareGroupStateResponse(results=await in_slices(asking, context))


def _write(asked: PartitionData) -> Write:
    return Write(
        asked.state_epoch,
        asked.leader_epoch,
        asked.start_offset,
        asked.delivery_complete_count,
        [
            StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
            for b in asked.state_batches
        ],
    )
