"""DeleteRecords (key 21), versions 0-2: a partition begins later from now on (KIP-107).

-1 means everything up to the high watermark. What lies before the new log start is no longer read,
at once; the files go with retention. The answer names the new log start ("low watermark"), -1 with
an error. An offset before the log start changes nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.internal_topics import INTERNAL_TOPICS
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_NO_LOW_WATERMARK: Final = -1
_NO_EPOCH: Final = -1


async def handle(
    services: Services, context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    def delete(topic: DeleteRecordsTopic) -> Steps[DeleteRecordsTopicResult]:
        delete_in = partial(_delete, services, context.node_id, topic.name)
        partitions = yield from mapped(delete_in, topic.partitions)
        return DeleteRecordsTopicResult(name=topic.name, partitions=partitions)

    named = (topic for topic in request.topics if topic.partitions)
    topics = await in_slices(mapped_in_steps(delete, named), context)
    return DeleteRecordsResponse(topics=topics)


def _delete(
    services: Services, node_id: int, name: str, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    code, low_watermark = ErrorCode.NONE, _NO_LOW_WATERMARK
    try:
        partition = services.topics.partition(name, asked.partition_index)
        if name in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition.check_leader(node_id, _NO_EPOCH, leader_only=True)
        low_watermark = partition.delete_records_before(asked.offset)
    except KafkaError as error:
        code = error.code
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=low_watermark, error_code=code
    )
