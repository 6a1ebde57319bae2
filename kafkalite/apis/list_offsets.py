"""ListOffsets (key 2), versions 1-11: offsets by time, and the special ones.

    -1  latest: the high watermark, or under READ_COMMITTED the last stable offset
    -2  earliest: the log start offset
    -3  v7   the record with the largest timestamp (KIP-734)
    -4  v8   earliest local: the log start offset, since there is no tiered storage (KIP-405)
    -5  v9   latest tiered: none (KIP-1005)
    -6  v11  earliest pending upload: none (KIP-1023)

Any other is a timestamp in milliseconds: the first record at or after it, -1 when there is none
below the high watermark (last stable offset). A negative one that its version does not know is
UNSUPPORTED_VERSION, a partition named twice INVALID_REQUEST, each for that partition only.

Spark's executors send two of these for every poll: the special ones must stay a look-up. A timestamp is
looked for in the log; where that is on the disk only, a thread waits for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import read_off_loop
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition
    from kafkalite.services import Services

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

_SINCE_VERSION: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_LEADER_EPOCH_SINCE: Final = 4
_READ_COMMITTED: Final = 1
_DEBUGGING_REPLICA_ID: Final = -2

# (timestamp, offset, leader epoch)
Found = tuple[int, int, int]
_NONE: Final[Found] = (-1, -1, -1)


async def handle(
    services: Services, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    # By topic and partition: one named twice is answered once.
    found: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        answers = found.setdefault(topic.name, {})
        for asked in topic.partitions:
            index = asked.partition_index
            look_up = partial(_look_up, services, context, request, topic.name, asked)
            if index in answers:
                answers[index] = _failed(index, ErrorCode.INVALID_REQUEST)
            elif asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP:
                answers[index] = await read_off_loop(look_up, context.connection.move_to_task)
            else:
                answers[index] = look_up()
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in found.items()
            if answers
        ]
    )


def _failed(index: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error)


def _look_up(
    services: Services,
    context: RequestContext,
    request: ListOffsetsRequest,
    topic_name: str,
    asked: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse:
    try:
        if asked.timestamp < 0:
            since = _SINCE_VERSION.get(asked.timestamp)
            if since is None or context.api_version < since:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        topic = services.topics.get(topic_name)
        if topic is None or not 0 <= asked.partition_index < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = topic.partitions[asked.partition_index]
        leader_only = request.replica_id != _DEBUGGING_REPLICA_ID
        partition.check_leader(context.node_id, asked.current_leader_epoch, leader_only=leader_only)
        timestamp, offset, leader_epoch = _find(
            partition, asked.timestamp, request.isolation_level == _READ_COMMITTED
        )
    except KafkaError as error:
        return _failed(asked.partition_index, error.code)
    answer = ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=ErrorCode.NONE,
        timestamp=timestamp,
        offset=offset,
    )
    if context.api_version >= _LEADER_EPOCH_SINCE:
        answer.leader_epoch = leader_epoch
    return answer


def _find(partition: Partition, timestamp: int, committed_only: bool) -> Found:
    log = partition.log
    if timestamp == LATEST:
        return -1, partition.read_limit(committed_only=committed_only), partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, partition.epoch_of(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NONE
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp_offset()
    else:
        found = log.offset_for_timestamp(timestamp)
    limit = partition.read_limit(committed_only=committed_only)
    if found is None or found.offset >= limit:
        return _NONE
    return found.timestamp, found.offset, partition.epoch_of(found.offset)
