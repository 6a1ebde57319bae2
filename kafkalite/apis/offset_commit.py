"""OffsetCommit: a group remembers how far it has read.

v2-4 may choose a retention time, v6 has leader epochs, v7 static members, v9 member epochs of the
new protocol (KIP-848), v10 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequestRow,
    OffsetCommitRequestTopicRow,
    OffsetCommitResponsePartitionRow,
    OffsetCommitResponseRow,
    OffsetCommitResponseTopicRow,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

TOPIC_IDS_SINCE: Final = 10


def handle(
    services: Services, context: RequestContext, request: OffsetCommitRequestRow
) -> OffsetCommitResponseRow:
    """The commits are written when they are answered."""
    group_id, generation, member_id, instance_id, retention_ms, topics = request
    unknown: list[OffsetCommitRequestTopicRow] = []
    known: list[OffsetCommitRequestTopicRow] = []
    uses_topic_ids = context.api_version >= TOPIC_IDS_SINCE
    for topic in topics:
        name, topic_id, partitions = topic
        found = services.topics.by_id(topic_id) if uses_topic_ids else services.topics.get(name)
        if found is None:
            (unknown if uses_topic_ids else known).append(topic)
        elif partitions:
            # Kafka's rule: a topic that exists, but of which nothing is committed, is not in the
            # response.
            known.append((found.name, topic_id, partitions))
    answered = services.group_coordinator.offset_router.commit(
        context, (group_id, generation, member_id, instance_id, retention_ms, known)
    )
    if unknown:
        answered = [*answered, *(_unknown(topic) for topic in unknown)]
        if len(unknown) > 1:
            answered = _each_once(answered)
    return 0, answered


def _each_once(
    topics: list[OffsetCommitResponseTopicRow],
) -> list[OffsetCommitResponseTopicRow]:
    """The topics without repetition: one that is named twice is answered once, with all its
    partitions. Kafka does this once a topic is unknown."""
    once: dict[UUID, tuple[str, UUID, list[OffsetCommitResponsePartitionRow]]] = {}
    for name, topic_id, partitions in topics:
        once.setdefault(topic_id, (name, topic_id, []))[2].extend(partitions)
    return list(once.values())


def _unknown(topic: OffsetCommitRequestTopicRow) -> OffsetCommitResponseTopicRow:
    name, topic_id, partitions = topic
    code = ErrorCode.UNKNOWN_TOPIC_ID
    return name, topic_id, [(partition, code) for partition, _, _, _ in partitions]
