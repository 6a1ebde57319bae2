"""OffsetCommit: a group remembers how far it has read.

v2-4 may choose a retention time, v6 has leader epochs, v7 static members, v9 member epochs of the
new protocol (KIP-848), v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kafkalite.requests.slices import (
    Steps,
    at_once,
    cut,
    in_slices,
    is_long,
    mapped_in_steps,
    release,
)
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
    named = _Named([], [])
    _look_up(services, context, topics, named)
    router = services.group_coordinator.offset_router
    answered = router.commit(context, (*request[:5], named.known))
    return 0, at_once(_with_unknown(answered, named.unknown)) if named.unknown else answered


def _commit_slowly(
    services: Services, context: RequestContext, request: OffsetCommitRequestRow
) -> Steps[OffsetCommitResponseRow]:
    named = _Named([], [])
    for some in cut(request[5]):
        _look_up(services, context, some, named)
        yield
    router = services.group_coordinator.offset_router
    answered = yield from router.committing(context, (*request[:5], named.known))
    return 0, (yield from _with_unknown(answered, named.unknown))


class _Named(NamedTuple):
    """The topics of a request by name, and those of unknown ids."""

    known: list[OffsetCommitRequestTopicRow]
    unknown: list[OffsetCommitRequestTopicRow]


def _look_up(
    services: Services,
    context: RequestContext,
    topics: Sequence[OffsetCommitRequestTopicRow],
    named: _Named,
) -> None:
    uses_topic_ids = context.api_version >= OFFSET_COMMIT_BY_ID_SINCE
    for topic in topics:
        name, topic_id, partitions = topic
        found = services.topics.by_id(topic_id) if uses_topic_ids else services.topics.get(name)
        if found is None:
            (named.unknown if uses_topic_ids else named.known).append(topic)
        elif partitions:
            # Kafka's rule: a topic that exists, but of which nothing is committed, is not in the
            # response.
            named.known.append((found.name, topic_id, partitions))


def _with_unknown(
    answered: Sequence[OffsetCommitResponseTopicRow],
    unknown: list[OffsetCommitRequestTopicRow],
) -> Steps[Sequence[OffsetCommitResponseTopicRow]]:
    all_of_them = [*answered, *(yield from mapped_in_steps(_unknown, unknown))]
    if len(unknown) < 2:
        return all_of_them
    once = yield from _each_once(all_of_them)
    yield from release([all_of_them])
    return once


def _each_once(
    topics: Sequence[OffsetCommitResponseTopicRow],
) -> Steps[list[OffsetCommitResponseTopicRow]]:
    """The topics without repetition: one that is named twice is answered once, with all its
    partitions. Kafka does this once a topic is unknown."""
    once: dict[UUID, tuple[str, UUID, list[OffsetCommitResponsePartitionRow]]] = {}
    for name, topic_id, partitions in topics:
        once.setdefault(topic_id, (name, topic_id, []))[2].extend(partitions)
        yield
    return [*once.values()]


def _unknown(topic: OffsetCommitRequestTopicRow) -> Steps[OffsetCommitResponseTopicRow]:
    name, topic_id, partitions = topic
    rows: list[OffsetCommitResponsePartitionRow] = []
    for some in cut(partitions):
        rows += [(partition, ErrorCode.UNKNOWN_TOPIC_ID) for partition, _, _, _ in some]
        yield
    return name, topic_id, rows
