"""OffsetFetch: how far groups have read.

v2 may ask for all topics (null), v7 to wait for transactions (KIP-447), v8 for several groups
(KIP-709), v9 names the member (KIP-848), v10 topics by id. Before v8 there is one group, and the
same answer in another form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

GROUP_ERROR_SINCE: Final = 2
SEVERAL_GROUPS_SINCE: Final = 8
TOPIC_IDS_SINCE: Final = 10


async def handle(
    services: Services, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    """Answer for each group."""
    if context.api_version >= SEVERAL_GROUPS_SINCE:
        groups = [
            await _fetch(services, context, group, require_stable=request.require_stable)
            for group in request.groups
        ]
        return OffsetFetchResponse(groups=groups)
    wanted = (
        None
        if request.topics is None
        else [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    )
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=wanted)
    answer = await _fetch(services, context, group, require_stable=request.require_stable)
    return _for_one_group(answer, wanted or [], context.api_version)


async def _fetch(
    services: Services,
    context: RequestContext,
    group: OffsetFetchRequestGroup,
    *,
    require_stable: bool,
) -> OffsetFetchResponseGroup:
    coordinator = services.group_coordinator
    if context.api_version < TOPIC_IDS_SINCE:
        return await coordinator.offset_fetch(context, group, require_stable=require_stable)
    unknown: list[OffsetFetchRequestTopics] = []
    if group.topics is not None:
        known: list[OffsetFetchRequestTopics] = []
        for topic in group.topics:
            found = services.topics.by_id(topic.topic_id)
            if found is None:
                unknown.append(topic)
            else:
                topic.name = found.name
                known.append(topic)
        group.topics = known
    answer = await coordinator.offset_fetch(context, group, require_stable=require_stable)
    # Of all there are offsets for, topics that are gone cannot be spoken of by id.
    answer.topics = [topic for topic in answer.topics if topic.topic_id.int]
    if not answer.error_code:
        answer.topics += [_unknown(topic) for topic in unknown]
    return answer


def _unknown(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=partition,
                committed_offset=-1,
                error_code=ErrorCode.UNKNOWN_TOPIC_ID,
            )
            for partition in topic.partition_indexes
        ],
    )


def _for_one_group(
    answer: OffsetFetchResponseGroup, wanted: list[OffsetFetchRequestTopics], version: int
) -> OffsetFetchResponse:
    """The form of versions 1 to 7. v1 has no place for the group's error but each partition."""
    if answer.error_code and version < GROUP_ERROR_SINCE:
        answer.topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=partition,
                        committed_offset=-1,
                        error_code=answer.error_code,
                    )
                    for partition in topic.partition_indexes
                ],
            )
            for topic in wanted
        ]
    return OffsetFetchResponse(
        error_code=answer.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in answer.topics
        ],
    )
