"""StreamsGroupHeartbeat (key 88), version 0: the request of a streams group's members (KIP-1071).

The internal topics that the topology needs are created here, after the answer is made: the next
heartbeat finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.features import STREAMS_VERSION
from kafkalite.cluster.internal_topics import INTERNAL_TOPICS
from kafkalite.cluster.topic_creation import NewTopic, validate_topic_name
from kafkalite.requests.slices import in_slices
from kafkalite.security.authorization.streams import topic_names
from kafkalite.wire.error_messages import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)

if TYPE_CHECKING:
    from kafkalite.group_coordinator.streams_topology import InternalTopic
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

_MISSING_INTERNAL_TOPICS: Final = 3  # status code
_MOST_ERRORS: Final = 3


async def handle(
    services: Services, context: RequestContext, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse:
    try:
        if not are_streams_groups_served(services):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if request.topology is not None:
            _check_names(request.topology)
    except KafkaError as refused:
        return StreamsGroupHeartbeatResponse(
            error_code=refused.code,
            error_message=refused.message,
            active_tasks=None,
            standby_tasks=None,
            warmup_tasks=None,
            partitions_by_user_endpoint=None,
        )
    answered = services.group_coordinator.streams.heartbeat(context, request)
    topics, may_create = answered.to_create, context.may_create
    if topics:
        denied = [] if may_create is None else [name for name in topics if not may_create(name)]
        if denied:
            _say(answered.response, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
        else:
            await _create(services, context, topics, answered.response)
    return answered.response


def are_streams_groups_served(services: Services) -> bool:
    protocols = services.group_coordinator.config.rebalance_protocols
    return "streams" in protocols and bool(services.cluster.features.get(STREAMS_VERSION, 0))


def _check_names(topology: Topology) -> None:
    names = dict.fromkeys(topic_names(topology))
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is "
            "prohibited.",
        )
    invalid = [name for name in names if not _is_valid(name)]
    if invalid:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Topic names {','.join(invalid)} are not valid topic names.",
        )


def _is_valid(name: str) -> bool:
    try:
        validate_topic_name(name)
    except KafkaError:
        return False
    return True


async def _create(
    services: Services,
    context: RequestContext,
    topics: Mapping[str, InternalTopic],
    response: StreamsGroupHeartbeatResponse,
) -> None:
    """Create the topics; the answer's status says what could not be.

    One that another decides on, or another request creates, is not there yet, and may come.
    """
    new = [
        NewTopic(
            name=topic.name,
            partition_count=topic.partition_count,
            replication_factor=topic.replication_factor or -1,
            configs=dict(topic.configs),
        )
        for topic in topics.values()
    ]
    results = await in_slices(services.topics.creating_all(new), context)
    failed = [
        f"{name} ({message_of(result)})"
        for name, result in zip(topics, results, strict=True)
        if isinstance(result, KafkaError)
        and result.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    if not failed:
        return
    said = ", ".join(failed[:_MOST_ERRORS])
    if len(failed) > _MOST_ERRORS:
        said += f" and {len(failed) - _MOST_ERRORS} more"
    _say(response, f"Creation failed: {said}.")


def _say(response: StreamsGroupHeartbeatResponse, more: str) -> None:
    """Add to the status that says that topics are missing."""
    for status in response.status or ():
        if status.status_code == _MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {more}"
