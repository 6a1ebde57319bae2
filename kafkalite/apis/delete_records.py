"""DeleteRecords (key 21), versions 0-2: a partition begins later from now on (KIP-107).

-1 means everything up to the high watermark. What lies before the new log start is no longer read,
at once; the files go with retention. The answer names the low watermark, the first log start of all
living replicas, -1 with an error. It waits until that is where it was asked to be, or timeout.ms
have passed: REQUEST_TIMED_OUT, with the low watermark as it was in the beginning. An offset before
the log start changes nothing. Of a partition named twice the last offset counts. Kafka forgets the
new start if it is killed before the next checkpoint; here it is on the disk before the answer,
unless the disk is full, and KAFKA_STORAGE_ERROR is the answer if the disk turns out to be broken.
Source: KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecords, DelayedDeleteRecords.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import trio

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.log.log import Log
    from kafkalite.replica.partition import Partition
    from kafkalite.services import Services

_NO_LOW_WATERMARK: Final = -1
_NO_EPOCH: Final = -1

# By partition.
_Offsets = dict[int, int]
# A log that has a new start, and what is answered for it.
_Begun: TypeAlias = "tuple[Log, DeleteRecordsPartitionResult]"


class _Waiting(NamedTuple):
    """A partition whose replicas do not all begin at `offset` yet."""

    partition: Partition
    node_id: int
    offset: int
    result: DeleteRecordsPartitionResult

    def has_settled(self) -> bool:
        """True once the result says how it went."""
        partition, result = self.partition, self.result
        if partition.is_deleted:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif partition.log.offline_reason is not None:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        elif not partition.is_ours or partition.leader_id != self.node_id:
            result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif partition.low_watermark < self.offset:
            return False
        else:
            result.error_code, result.low_watermark = ErrorCode.NONE, partition.low_watermark
            return True
        result.low_watermark = _NO_LOW_WATERMARK
        return True


async def handle(
    services: Services, context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    waiting: list[_Waiting] = []
    begun: list[_Begun] = []

    def delete(asked: tuple[str, _Offsets]) -> Steps[DeleteRecordsTopicResult]:
        name, offsets = asked
        delete_in = partial(_delete, services, context.node_id, name, waiting, begun)
        partitions = yield from mapped(delete_in, offsets.items())
        return DeleteRecordsTopicResult(name=name, partitions=partitions)

    by_topic = await in_slices(_by_topic(request.topics), context)
    topics = await in_slices(mapped_in_steps(delete, by_topic.items()), context)
    await in_slices(services.logs.keeping_starts([log for log, _ in begun]), context)
    await in_slices(mapped(_say_if_offline, begun), context)
    if waiting:
        watched = [each.partition.watchers for each in waiting]
        await context.connection.wait_until(
            partial(_have_settled, waiting),
            watched,
            trio.current_time() + request.timeout_ms / 1000,
            answer_early=False,
        )
        await in_slices(mapped(_Waiting.has_settled, waiting), context)
    return DeleteRecordsResponse(topics=topics)


def _say_if_offline(begun: _Begun) -> None:
    """A new start that could not be kept, as the disk is broken, may not be there after a crash."""
    log, result = begun
    if log.offline_reason is not None:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        result.low_watermark = _NO_LOW_WATERMARK


def _by_topic(topics: list[DeleteRecordsTopic]) -> Steps[dict[str, _Offsets]]:
    by_topic: dict[str, _Offsets] = {}
    for topic in topics:
        for partition in topic.partitions:
            yield
            offsets = by_topic.setdefault(topic.name, {})
            offsets[partition.partition_index] = partition.offset
    return by_topic


def _have_settled(waiting: list[_Waiting]) -> bool:
    """True once all have. Those that have are looked at no more."""
    while waiting and waiting[-1].has_settled():
        waiting.pop()
    return not waiting


def _delete(
    services: Services,
    node_id: int,
    name: str,
    waiting: list[_Waiting],
    begun: list[_Begun],
    asked: tuple[int, int],
) -> DeleteRecordsPartitionResult:
    index, before = asked
    result = DeleteRecordsPartitionResult(
        partition_index=index,
        low_watermark=_NO_LOW_WATERMARK,
        error_code=ErrorCode.NONE,
    )
    try:
        partition = services.topics.partition(name, index)
        if name in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition.check_leader(node_id, _NO_EPOCH, leader_only=True)
        offset = partition.delete_records_before(before)
    except KafkaError as error:
        result.error_code = error.code
        return result
    begun.append((partition.log, result))
    result.low_watermark = partition.low_watermark
    if result.low_watermark < offset:
        result.error_code = ErrorCode.REQUEST_TIMED_OUT
        waiting.append(_Waiting(partition, node_id, offset, result))
    return result
