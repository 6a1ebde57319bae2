"""ReadShareGroupStateSummary (key 87), versions 0-1: where share groups are with partitions
(KIP-932); v1 has the delivery complete count (KIP-1226).

Asked by group coordinators. Kafka: ShareCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.share_coordinator.asking import ask
from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.messages.read_share_group_state_summary import (
    PartitionData,
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
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return ReadShareGroupStateSummaryResponse()
    return ReadShareGroupStateSummaryResponse(
        results=[
            ReadStateSummaryResult(
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
        "read share group state summary",
        lambda: coordinator.summary(key) or ShareState(),
    )
    state = answer.result
    if state is None:
        return PartitionResult(
            partition=asked.partition,
            error_code=answer.error_code,
            error_message=answer.error_message,
        )
    return PartitionResult(
        partition=asked.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
