"""ListPartitionReassignments (key 46), version 0: which partitions are on the move (KIP-455).

`topics` null means all. What is not there, or does not move, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.reassignment import is_moving
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    response = ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None)
    for name, indexes in _asked(services, request):
        topic = services.topics.get(name)
        if topic is None:
            continue
        moving = [
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=state.replicas,
                adding_replicas=state.adding_replicas,
                removing_replicas=state.removing_replicas,
            )
            for index, state in enumerate(topic.states)
            if is_moving(state) and (indexes is None or index in indexes)
        ]
        if moving:
            response.topics.append(OngoingTopicReassignment(name=name, partitions=moving))
    return response


def _asked(
    services: Services, request: ListPartitionReassignmentsRequest
) -> Iterable[tuple[str, list[int] | None]]:
    if request.topics is None:
        return [(topic.name, None) for topic in services.topics.all()]
    return [(asked.name, asked.partition_indexes) for asked in request.topics]
