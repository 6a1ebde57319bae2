"""DeleteShareGroupState (key 86), version 0: the state of share partitions is forgotten (KIP-932).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DeleteShareGroupStateRequest
) -> DeleteShareGroupStateResponse:
    coordinator = services.share.coordinator
    answered = ask_each(
        services.share,
        context.node_id,
        request.group_id,
        [(topic.topic_id, topic.partitions) for topic in request.topics],
        "delete share group state",
        lambda key, asked: coordinator.delete(key),
    )
    return DeleteShareGroupStateResponse(
        results=[
            DeleteStateResult(
                topic_id=topic_id,
                partitions=[
                    PartitionResult(
                        partition=each.partition,
                        error_code=each.error_code,
                        error_message=each.error_message,
                    )
                    for each in answers
                ],
            )
            for topic_id, answers in answered
        ]
    )
