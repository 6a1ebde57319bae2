"""OffsetCommit: a group remembers how far it has read.

v2-4 may choose a retention time, v6 has leader epochs, v7 static members, v9 member epochs of the
new protocol (KIP-848), v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.refused_first import is_any_refused, refused_first
from kafkalite.requests.slices import Steps, at_once, cut, in_slices, is_long
from kafkalite.wire.api_keys import OFFSET_COMMIT_BY_ID_SINCE
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

# A commit takes some two microseconds.
_MOST_AT_ONCE: Final = 1024


def handle(
    services: Services, context: RequestContext, request: OffsetCommitRequestRow
) -> OffsetCommitResponseRow | Coroutine[Any, Any, OffsetCommitResponseRow]:
    """The commits are written when they are answered."""
    topics = request[5]
    if is_long(context, topics, _MOST_AT_ONCE):
        return in_slices(_commit_slowly(services, context, request), context)
    named: list[OffsetCommitRequestTopicRow] = []
    _look_up(services, context, topics, named)
    router = services.group_coordinator.offset_router
    answered = router.commit(context, (*request[:5], named))
    return 0, at_once(_with_refused(context, answered)) if is_any_refused(answered) else answered


def _commit_slowly(
    services: Services, context: RequestContext, request: OffsetCommitRequestRow
) -> Steps[OffsetCommitResponseRow]:
    named: list[OffsetCommitRequestTopicRow] = []
    for some in cut(request[5]):
        _look_up(services, context, some, named)
        yield
    router = services.group_coordinator.offset_router
    answered = yield from router.committing(context, (*request[:5], named))
    return 0, (yield from _with_refused(context, answered))


def _look_up(
    services: Services,
    context: RequestContext,
    topics: Sequence[OffsetCommitRequestTopicRow],
    named: list[OffsetCommitRequestTopicRow],
) -> None:
    """Add the topics by name; those of unknown ids have none."""
    uses_topic_ids = context.api_version >= OFFSET_COMMIT_BY_ID_SINCE
    for topic in topics:
        name, topic_id, partitions = topic
        found = services.topics.by_id(topic_id) if uses_topic_ids else services.topics.get(name)
        if found is None:
            named.append(topic)
        elif partitions:
            # Kafka's rule: a topic that exists, but of which nothing is committed, is not in the
            # response.
            named.append((found.name, topic_id, partitions))


def _with_refused(
    context: RequestContext, answered: Sequence[OffsetCommitResponseTopicRow]
) -> Steps[Sequence[OffsetCommitResponseTopicRow]]:
    topics = yield from refused_first(answered)
    if context.api_version < OFFSET_COMMIT_BY_ID_SINCE:
        return topics
    by_id: list[OffsetCommitResponseTopicRow] = []
    for topic in topics:
        by_id.append(topic if topic[0] else (yield from _unknown_id(topic)))
        yield
    return by_id


def _unknown_id(topic: OffsetCommitResponseTopicRow) -> Steps[OffsetCommitResponseTopicRow]:
    name, topic_id, partitions = topic
    rows: list[OffsetCommitResponsePartitionRow] = []
    for some in cut(partitions):
        rows += [(partition, ErrorCode.UNKNOWN_TOPIC_ID) for partition, _ in some]
        yield
    return name, topic_id, rows
