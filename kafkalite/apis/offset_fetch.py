"""OffsetFetch: how far groups have read.

v2 may ask for all topics (null), v7 to wait for transactions (KIP-447), v8 for several groups
(KIP-709), v9 names the member (KIP-848), v10 topics by id. Before v8 there is one group, and the
same answer in another form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroupRow,
    OffsetFetchRequestRow,
    OffsetFetchRequestTopicsRow,
    OffsetFetchResponseGroupRow,
    OffsetFetchResponseRow,
    OffsetFetchResponseTopicsRow,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

GROUP_ERROR_SINCE: Final = 2
SEVERAL_GROUPS_SINCE: Final = 8
TOPIC_IDS_SINCE: Final = 10

_NO_OFFSET: Final = -1
_NO_EPOCH: Final = -1


def handle(
    services: Services, context: RequestContext, request: OffsetFetchRequestRow
) -> OffsetFetchResponseRow:
    """Answer for each group."""
    group_id, topics, groups, require_stable = request
    if context.api_version >= SEVERAL_GROUPS_SINCE:
        answers = [_fetch(services, context, group, require_stable) for group in groups]
        return 0, (), 0, answers
    wanted: list[OffsetFetchRequestTopicsRow] | None = None
    if topics is not None:
        wanted = [(name, NO_UUID, partitions) for name, partitions in topics]
    group = (group_id, None, _NO_EPOCH, wanted)
    _, found, code = _fetch(services, context, group, require_stable)
    if code and context.api_version < GROUP_ERROR_SINCE:
        # No place for the group's error but each partition.
        found = [_failed(topic, code) for topic in wanted or ()]
    return 0, [(name, rows) for name, _, rows in found], code, ()


def _fetch(
    services: Services,
    context: RequestContext,
    group: OffsetFetchRequestGroupRow,
    require_stable: bool,
) -> OffsetFetchResponseGroupRow:
    router = services.group_coordinator.offset_router
    if context.api_version < TOPIC_IDS_SINCE:
        return router.fetch(context, group, require_stable=require_stable)
    group_id, member_id, member_epoch, wanted = group
    unknown: list[OffsetFetchRequestTopicsRow] = []
    known: list[OffsetFetchRequestTopicsRow] | None = None
    if wanted is not None:
        known = []
        for topic in wanted:
            _, topic_id, partitions = topic
            found = services.topics.by_id(topic_id)
            if found is None:
                unknown.append(topic)
            else:
                known.append((found.name, topic_id, partitions))
    _, topics, code = router.fetch(
        context, (group_id, member_id, member_epoch, known), require_stable=require_stable
    )
    # Of all there are offsets for, topics that are gone cannot be spoken of by id.
    answers: Sequence[OffsetFetchResponseTopicsRow] = [topic for topic in topics if topic[1].int]
    if not code:
        answers = [*answers, *(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID) for topic in unknown)]
    return group_id, answers, code


def _failed(topic: OffsetFetchRequestTopicsRow, code: int) -> OffsetFetchResponseTopicsRow:
    name, topic_id, partitions = topic
    rows = [(partition, _NO_OFFSET, _NO_EPOCH, "", code) for partition in partitions]
    return name, topic_id, rows
