"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ended (KIP-320).

A consumer that comes back after a change of leaders asks whether what it has read is still there.
The latest epoch ends at the log end, and an earlier one where the next known epoch begins. The
answer for an epoch that was never here, or is later than all, is epoch -1 and offset -1, without an
error.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, briefly_or_in_slices, is_long, mapped, mapped_in_steps
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.offset_for_leader_epoch import (
    EpochEndOffsetRow,
    OffsetForLeaderEpochRequestRow,
    OffsetForLeaderEpochResponseRow,
    OffsetForLeaderPartitionRow,
    OffsetForLeaderTopicResultRow,
    OffsetForLeaderTopicRow,
)
from kafkalite.wire.rows import LargeResponse

if TYPE_CHECKING:
    from kafkalite.services import Services

# It takes a microsecond or two for each partition.
_MOST_AT_ONCE: Final = 1024


def handle(
    services: Services, context: RequestContext, request: OffsetForLeaderEpochRequestRow
) -> OffsetForLeaderEpochResponseRow | Coroutine[Any, Any, LargeResponse]:
    topics = request[1]
    if is_long(context, topics, _MOST_AT_ONCE):
        return _in_slices(services, context, topics)
    return 0, [
        (name, [_end_offset(services, context, name, asked) for asked in partitions])
        for name, partitions in topics
    ]


async def _in_slices(
    services: Services, context: RequestContext, topics: list[OffsetForLeaderTopicRow]
) -> LargeResponse:
    def look_up(topic: OffsetForLeaderTopicRow) -> Steps[OffsetForLeaderTopicResultRow]:
        name, partitions = topic
        return name, (yield from mapped(partial(_end_offset, services, context, name), partitions))

    return LargeResponse((0, await briefly_or_in_slices(mapped_in_steps(look_up, topics), context)))


def _end_offset(
    services: Services, context: RequestContext, name: str, asked: OffsetForLeaderPartitionRow
) -> EpochEndOffsetRow:
    index, current_leader_epoch, leader_epoch = asked
    try:
        partition = services.topics.partition(name, index)
        partition.check_leader(context.node_id, current_leader_epoch, leader_only=True)
    except KafkaError as error:
        return error.code, index, -1, -1
    return 0, index, *partition.end_offset_for_epoch(leader_epoch)
