"""StreamsGroupHeartbeat (key 88), version 0: the request of a streams group's members (KIP-1071).

The internal topics that the topology needs are created here, after the answer is made: the next
heartbeat finds them, or is told why there are none. Where controllers create them, that is said
for two intervals of heartbeats; then they are asked again.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.requests.large_requests import with_message
from kafkalite.requests.slices import COUNTED_FROM_BYTES, has_many, in_slices
from kafkalite.requests.topology_names import check_topic_names
from kafkalite.wire.error_messages import words_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequestRow,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponseRow,
    Topology,
)
from kafkalite.wire.rows import SharedResponse, message_of_row, rows_of

if TYPE_CHECKING:
    from kafkalite.group_coordinator.streams_topology import InternalTopic
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

_MISSING_INTERNAL_TOPICS: Final = 3  # status code
_MOST_ERRORS: Final = 3
_RETRY_INTERVALS: Final = 2

Answer: TypeAlias = "StreamsGroupHeartbeatResponseRow | SharedResponse"


def handle(
    services: Services, context: RequestContext, request: StreamsGroupHeartbeatRequestRow
) -> Answer | Coroutine[Any, Any, Answer]:
    """Answer at once, unless there are topics to create, or the request is large."""
    if context.request_bytes >= COUNTED_FROM_BYTES and (has_many(request) or has_many(request[7])):

        def answer(
            message: StreamsGroupHeartbeatRequest,
        ) -> Answer | Coroutine[Any, Any, Answer]:
            return _answer(services, context, request, message, message.topology)

        return with_message(StreamsGroupHeartbeatRequest, request, context, answer)
    topology = None if request[7] is None else message_of_row(Topology, request[7])
    return _answer(services, context, request, None, topology)


def _answer(
    services: Services,
    context: RequestContext,
    request: StreamsGroupHeartbeatRequestRow,
    message: StreamsGroupHeartbeatRequest | None,
    topology: Topology | None,
) -> Answer | Coroutine[Any, Any, Answer]:
    try:
        if topology is not None:
            check_topic_names(topology)
    except KafkaError as refused:
        return _row(
            StreamsGroupHeartbeatResponse(
                error_code=refused.code,
                error_message=refused.message,
            )
        )
    answered = services.group_coordinator.streams.heartbeat(context, request, message)
    if isinstance(answered, SharedResponse):
        return answered
    topics, may_create = answered.to_create, context.may_create
    if not topics:
        return _row(answered.response)
    denied = [] if may_create is None else [name for name in topics if not may_create(name)]
    if denied:
        _say(answered.response, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
        return _row(answered.response)
    return _create(services, context, topics, answered.response)


async def _create(
    services: Services,
    context: RequestContext,
    topics: Mapping[str, InternalTopic],
    response: StreamsGroupHeartbeatResponse,
) -> StreamsGroupHeartbeatResponseRow:
    """Create the topics; the answer's status says what could not be.

    One that another decides on, or another request creates, is not there yet, and may come.
    """
    new = [
        NewTopic(
            name=topic.name,
            partition_count=topic.partition_count,
            replication_factor=topic.replication_factor or -1,
            configs=dict(topic.configs),
            retry_seconds=_RETRY_INTERVALS * response.heartbeat_interval_ms / 1000,
            charge=context.charge,
        )
        for topic in topics.values()
    ]
    results = await in_slices(services.topics.creating_all(new), context)
    failed = [
        f"{name} ({words_of(result)})"
        for name, result in zip(topics, results, strict=True)
        if isinstance(result, KafkaError)
        and result.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    if not failed:
        return _row(response)
    said = ", ".join(failed[:_MOST_ERRORS])
    if len(failed) > _MOST_ERRORS:
        said += f" and {len(failed) - _MOST_ERRORS} more"
    _say(response, f"Creation failed: {said}.")
    return _row(response)


def _row(response: StreamsGroupHeartbeatResponse) -> StreamsGroupHeartbeatResponseRow:
    row: StreamsGroupHeartbeatResponseRow = rows_of(response)
    return row


def _say(response: StreamsGroupHeartbeatResponse, more: str) -> None:
    """Add to the status that says that topics are missing."""
    for status in response.status or ():
        if status.status_code == _MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {more}"
