"""ListPartitionReassignments (key 46), version 0: which partitions are on the move (KIP-455).

`topics` null means all. What is not there, or does not move, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.reassignment import is_moving
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, cut, in_slices
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkalite.cluster.image import PartitionState
    from kafkalite.replica.topics import Topic
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    response = ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, error_message=None)
    response.topics = await in_slices(_list(services, request), context)
    return response


def _list(
    services: Services, request: ListPartitionReassignmentsRequest
) -> Steps[list[OngoingTopicReassignment]]:
    found: list[OngoingTopicReassignment] = []
    for name, indexes in _asked(services, request):
        yield
        topic = services.topics.get(name)
        if topic is None:
            continue
        wanted = range(len(topic.states)) if indexes is None else sorted(set(indexes))
        moving: list[OngoingPartitionReassignment] = []
        for some in cut(wanted):
            yield
            moving += (_told(index, topic.states) for index in some if _is_moving(index, topic))
        if moving:
            found.append(OngoingTopicReassignment(name=name, partitions=moving))
    return found


def _asked(
    services: Services, request: ListPartitionReassignmentsRequest
) -> Iterable[tuple[str, list[int] | None]]:
    if request.topics is None:
        return [(topic.name, None) for topic in services.topics.all()]
    return ((asked.name, asked.partition_indexes) for asked in request.topics)


def _is_moving(index: int, topic: Topic) -> bool:
    return 0 <= index < len(topic.states) and is_moving(topic.states[index])


def _told(index: int, states: Sequence[PartitionState]) -> OngoingPartitionReassignment:
    state = states[index]
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=state.replicas,
        adding_replicas=state.adding_replicas,
        removing_replicas=state.removing_replicas,
    )
