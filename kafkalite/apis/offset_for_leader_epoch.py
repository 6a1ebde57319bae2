"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ended (KIP-320).

A consumer that comes back after a change of leaders asks whether what it has read is still there.
The latest epoch ends at the log end, and an earlier one where the next known epoch begins. The
answer for an epoch that was never here, or is later than all, is epoch -1 and offset -1, without an
error.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    def look_up(topic: OffsetForLeaderTopic) -> Steps[OffsetForLeaderTopicResult]:
        end_offset = partial(_end_offset, services, context, topic.topic)
        partitions = yield from mapped(end_offset, topic.partitions)
        return OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions)

    topics = await in_slices(mapped_in_steps(look_up, request.topics), context)
    return OffsetForLeaderEpochResponse(topics=topics)


def _end_offset(
    services: Services, context: RequestContext, topic_name: str, asked: OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        partition = services.topics.partition(topic_name, asked.partition)
        partition.check_leader(context.node_id, asked.current_leader_epoch, leader_only=True)
    except KafkaError as error:
        return EpochEndOffset(error_code=error.code, partition=asked.partition)
    leader_epoch, end_offset = partition.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(
        error_code=ErrorCode.NONE,
        partition=asked.partition,
        leader_epoch=leader_epoch,
        end_offset=end_offset,
    )
