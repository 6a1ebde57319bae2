"""InitializeShareGroupState (key 83), version 0: the state of share partitions begins anew
(KIP-932).

Asked by group coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    coordinator = services.share.coordinator
    answered = ask_each(
        services.share,
        context.node_id,
        request.group_id,
        [(topic.topic_id, topic.partitions) for topic in request.topics],
        "initialize share group state",
        lambda key, asked: coordinator.initialize(key, asked.state_epoch, asked.start_offset),
    )
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
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
