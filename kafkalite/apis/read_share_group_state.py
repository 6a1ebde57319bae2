"""ReadShareGroupState (key 84), version 0: the state of share partitions (KIP-932).

Asked by leaders of share partitions. Kafka: ShareCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.share_coordinator.asking import ask
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse:
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return ReadShareGroupStateResponse()
    return ReadShareGroupStateResponse(
        results=[
            ReadStateResult(
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
        "read share group state",
        lambda: coordinator.read(key, asked.leader_epoch),
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
        start_offset=state.start_offset,
        state_batches=[
            StateBatch(
                first_offset=first, last_offset=last, delivery_state=how, delivery_count=count
            )
            for first, last, how, count in state.batches
        ],
    )
