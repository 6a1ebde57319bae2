"""InitializeShareGroupState (key 83), version 0: the state of share partitions begins anew
(KIP-932).

Asked by group coordinators. Kafka: ShareCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.share_coordinator.asking import ask
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return InitializeShareGroupStateResponse()
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
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
        "initialize share group state",
        lambda: coordinator.initialize(key, asked.state_epoch, asked.start_offset),
    )
    return PartitionResult(
        partition=asked.partition,
        error_code=answer.error_code,
        error_message=answer.error_message,
    )
