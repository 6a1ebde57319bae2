"""WriteShareGroupState (key 85), versions 0-1: the state of share partitions changes (KIP-932); v1
has the delivery complete count (KIP-1226).

Asked by leaders of share partitions. Kafka: ShareCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.share_coordinator.asking import ask
from kafkalite.coordinators.share_coordinator.coordinator import Write
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch
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
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return WriteShareGroupStateResponse()
    return WriteShareGroupStateResponse(
        results=[
            WriteStateResult(
                topic_id=topic.topic_id,
                partitions=[
                    _one(services, context, request.group_id, topic.topic_id, each)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _one(
    services: Services, context: RequestContext, group_id: str, topic_id: UUID, asked: PartitionData
) -> PartitionResult:
    key = SharePartitionKey(group_id, topic_id, asked.partition)
    coordinator = services.share.coordinator
    answer = ask(
        services.share,
        context.node_id,
        key,
        "write share group state",
        lambda: coordinator.write(
            key,
            Write(
                asked.state_epoch,
                asked.leader_epoch,
                asked.start_offset,
                asked.delivery_complete_count,
                [
                    StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
                    for b in asked.state_batches
                ],
            ),
        ),
    )
    return PartitionResult(
        partition=asked.partition,
        error_code=answer.error_code,
        error_message=answer.error_message,
    )
