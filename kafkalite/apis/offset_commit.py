"""OffsetCommit: a group remembers how far it has read.

v2-4 may choose a retention time, v6 has leader epochs, v7 static members, v9 member epochs of the
new protocol (KIP-848), v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkalite.requests.slices import (
    AT_ONCE,
    Steps,
    at_once,
    cut,
    in_slices,
    is_long,
    mapped_in_steps,
)
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
) -> OffsetCommitResponseRow | Coroutine[Any, Any, OffsetCommitResponseRow]:
    """The commits are written when they are answered."""
    steps = _commit(services, context, request)
    return in_slices(steps, context) if is_long(context, request[5]) else at_once(steps)


def _commit(
    services: Services, context: RequestContext, request: OffsetCommitRequestRow
) -> Steps[OffsetCommitResponseRow]:
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
        if len(known) + len(unknown) > AT_ONCE:
            yield
    answered = yield from services.group_coordinator.offset_router.commit(
        context, (group_id, generation, member_id, instance_id, retention_ms, known)
    )
    if unknown:
        answered = [*answered, *(yield from mapped_in_steps(_unknown, unknown))]
        if len(unknown) > 1:
            answered = yield from _each_once(answered)
    return 0, answered


def _each_once(
    topics: Sequence[OffsetCommitResponseTopicRow],
) -> Steps[list[OffsetCommitResponseTopicRow]]:
    """The topics without repetition: one that is named twice is answered once, with all its
    partitions. Kafka does this once a topic is unknown."""
    once: dict[UUID, tuple[str, UUID, list[OffsetCommitResponsePartitionRow]]] = {}
    for name, topic_id, partitions in topics:
        once.setdefault(topic_id, (name, topic_id, []))[2].extend(partitions)
        yield
    return list(once.values())


def _unknown(topic: OffsetCommitRequestTopicRow) -> Steps[OffsetCommitResponseTopicRow]:
    name, topic_id, partitions = topic
    rows: list[OffsetCommitResponsePartitionRow] = []
    for some in cut(partitions):
        rows += [(partition, ErrorCode.UNKNOWN_TOPIC_ID) for partition, _, _, _ in some]
        yield
    return name, topic_id, rows
