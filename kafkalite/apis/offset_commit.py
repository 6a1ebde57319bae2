"""OffsetCommit: a group remembers how far it has read.

v2-4 may choose a retention time, v6 has leader epochs, v7 static members, v9 member epochs of the
new protocol (KIP-848), v10 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

TOPIC_IDS_SINCE: Final = 10


async def handle(
    services: Services, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    """Written when it is answered."""
    if context.api_version < TOPIC_IDS_SINCE:
        # As Kafka: a topic that is there, but of which nothing is committed, is not in the answer.
        request.topics = [
            t for t in request.topics if t.partitions or not services.topics.get(t.name)
        ]
        return await services.group_coordinator.offset_commit(context, request)
    unknown: list[OffsetCommitRequestTopic] = []
    known: list[OffsetCommitRequestTopic] = []
    for topic in request.topics:
        found = services.topics.by_id(topic.topic_id)
        if found is None:
            unknown.append(topic)
        elif topic.partitions:
            topic.name = found.name
            known.append(topic)
    request.topics = known
    response = await services.group_coordinator.offset_commit(context, request)
    response.topics += [_unknown(topic) for topic in unknown]
    if len(unknown) > 1:
        response.topics = _each_once(response.topics)
    return response


def _each_once(topics: list[OffsetCommitResponseTopic]) -> list[OffsetCommitResponseTopic]:
    """As Kafka once one is unknown: a topic named twice is answered once, with all its partitions."""
    once: dict[UUID, OffsetCommitResponseTopic] = {}
    for topic in topics:
        known = once.setdefault(topic.topic_id, topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(once.values())


def _unknown(topic: OffsetCommitRequestTopic) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(
                partition_index=partition.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for partition in topic.partitions
        ],
    )
