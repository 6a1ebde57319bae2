"""ListOffsets (key 2), versions 1-11: offsets by time, and the special ones.

    -1  latest: the high watermark, or under READ_COMMITTED the last stable offset (consumers are
        told of nothing behind it); for others the end of the log
    -2  earliest: the log start offset
    -3  v7   the record with the largest timestamp (KIP-734)
    -4  v8   earliest local: the log start offset, since there is no tiered storage (KIP-405)
    -5  v9   latest tiered: none (KIP-1005)
    -6  v11  earliest pending upload: none (KIP-1023)

Any other is a timestamp in milliseconds: the first record at or after it, -1 when there is none
below the high watermark (last stable offset). A negative one that its version does not know is
UNSUPPORTED_VERSION, a partition named twice INVALID_REQUEST, each for that partition only.

Spark's executors send two of these for every poll: the special ones must stay a look-up. A
timestamp is looked for in the log; where that is on the disk only, a thread waits for it.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.log.page_cache import NotCached, cached_only
from kafkalite.replica.partition import is_isolation_level, is_read_committed
from kafkalite.requests.context import RequestContext
from kafkalite.requests.disk_threads import read_off_loop
from kafkalite.requests.full_collections import without_full_collections
from kafkalite.requests.slices import (
    AT_ONCE,
    Steps,
    cut,
    in_slices,
    is_long,
    release_dict,
)
from kafkalite.wire.api_keys import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartitionResponseRow,
    ListOffsetsPartitionRow,
    ListOffsetsRequestRow,
    ListOffsetsResponseRow,
)
from kafkalite.wire.rows import LargeResponse

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topic import Topic
    from kafkalite.services import Services


_SINCE_VERSION: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NEVER: Final = 1 << 15
# The end of a partition is at hand, which takes a microsecond or less.
_MOST_AT_ONCE: Final = 4096
_OFFSET_NOT_AVAILABLE_SINCE: Final = 5
_LEADER_EPOCH_SINCE: Final = 4
_CONSUMER: Final = -1
_DEBUGGING_REPLICA_ID: Final = -2

# (timestamp, offset, leader epoch)
Found = tuple[int, int, int]
_NONE: Final[Found] = (-1, -1, -1)


# By topic and partition: one named twice is answered once.
Answers = dict[str, dict[int, ListOffsetsPartitionResponseRow]]


def handle(
    services: Services, context: RequestContext, request: ListOffsetsRequestRow
) -> ListOffsetsResponseRow | Coroutine[Any, Any, LargeResponse]:
    if not is_isolation_level(request[1]):
        return _refused(context, request)
    if is_long(context, request[2], _MOST_AT_ONCE):
        return _handle_off_loop(services, context, request)
    found: Answers = {}
    searched = 0
    for name, partitions in request[2]:
        answers = found.setdefault(name, {})
        topic = services.topics.get(name)
        for asked in partitions:
            index = asked[0]
            if index in answers:
                answers[index] = _failed(index, ErrorCode.INVALID_REQUEST)
            elif _is_by_timestamp(asked):
                searched += 1
                if searched > AT_ONCE:
                    return _handle_off_loop(services, context, request)
                try:
                    with cached_only:
                        answers[index] = _look_up(topic, context, request, asked)
                except NotCached:
                    return _handle_off_loop(services, context, request)
            else:
                answers[index] = _look_up(topic, context, request, asked)
    return _response(found)


async def _refused(context: RequestContext, request: ListOffsetsRequestRow) -> LargeResponse:
    """Everything as it was asked for: an unknown isolation level is noticed first."""
    topics: list[tuple[str, list[ListOffsetsPartitionResponseRow]]] = []

    def refuse() -> Steps[None]:
        for name, partitions in request[2]:
            rows: list[ListOffsetsPartitionResponseRow] = []
            topics.append((name, rows))
            for some in cut(partitions):
                rows += [_failed(asked[0], ErrorCode.UNKNOWN_SERVER_ERROR) for asked in some]
                yield

    await in_slices(refuse(), context)
    return LargeResponse((0, topics))


async def _handle_off_loop(
    services: Services, context: RequestContext, request: ListOffsetsRequestRow
) -> LargeResponse:
    """The same, where a disk has to be waited for, or others for much that is asked."""
    with without_full_collections:
        found = await _look_up_all(services, context, request)
        topics = await in_slices(_taken(found), context)
    return LargeResponse((0, topics))


async def _look_up_all(
    services: Services, context: RequestContext, request: ListOffsetsRequestRow
) -> Answers:
    found: Answers = {}
    count = 0
    for name, partitions in request[2]:
        count = await _next(context, count)
        answers = found.setdefault(name, {})
        for asked in partitions:
            count = await _next(context, count)
            index = asked[0]
            if index in answers:
                answers[index] = _failed(index, ErrorCode.INVALID_REQUEST)
                continue
            look_up = partial(_look_up, services.topics.get(name), context, request, asked)
            answers[index] = await read_off_loop(look_up, context.connection.move_to_task)
    return found


async def _next(context: RequestContext, count: int) -> int:
    """One more element; others have their turn after every so many."""
    if count % AT_ONCE == AT_ONCE - 1:
        await context.connection.yield_turn()
    return count + 1


def _taken(found: Answers) -> Steps[list[tuple[str, list[ListOffsetsPartitionResponseRow]]]]:
    """The answers by topic; `found` is emptied."""
    topics: list[tuple[str, list[ListOffsetsPartitionResponseRow]]] = []
    for name in list(found):
        answers = found.pop(name)
        if answers:
            topics.append((name, list(answers.values())))
            yield from release_dict(answers)
        yield
    return topics


def _is_by_timestamp(asked: ListOffsetsPartitionRow) -> bool:
    """True if segments have to be read."""
    timestamp = asked[2]
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


def _response(found: Answers) -> ListOffsetsResponseRow:
    return 0, [(name, list(answers.values())) for name, answers in found.items() if answers]


def _failed(index: int, error: ErrorCode) -> ListOffsetsPartitionResponseRow:
    return index, error, *_NONE


def _look_up(
    topic: Topic | None,
    context: RequestContext,
    request: ListOffsetsRequestRow,
    asked: ListOffsetsPartitionRow,
) -> ListOffsetsPartitionResponseRow:
    replica_id, isolation_level, _, _ = request
    index, current_leader_epoch, timestamp = asked
    version = context.api_version
    try:
        if timestamp < 0 and version < _SINCE_VERSION.get(timestamp, _NEVER):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = _partition(topic, index)
        leader_only = replica_id != _DEBUGGING_REPLICA_ID
        partition.check_leader(context.node_id, current_leader_epoch, leader_only=leader_only)
        if replica_id == _CONSUMER:
            committed_only = is_read_committed(isolation_level)
            limit = partition.read_limit(committed_only=committed_only)
            is_unknown = partition.is_latest_unknown
        else:
            # Followers and debuggers ask how far the log goes, not how far clients may see.
            limit, is_unknown = partition.log.log_end_offset, False
        found = _find(partition, timestamp, limit, is_unknown)
    except KafkaError as error:
        is_old = version < _OFFSET_NOT_AVAILABLE_SINCE
        if error.code is ErrorCode.OFFSET_NOT_AVAILABLE and is_old:
            return _failed(index, ErrorCode.LEADER_NOT_AVAILABLE)
        return _failed(index, error.code)
    found_timestamp, offset, leader_epoch = found
    if version < _LEADER_EPOCH_SINCE:
        leader_epoch = -1
    return index, 0, found_timestamp, offset, leader_epoch


def _partition(topic: Topic | None, index: int) -> Partition:
    partitions = () if topic is None else topic.partitions
    if not 0 <= index < len(partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return partitions[index]


def _find(partition: Partition, timestamp: int, limit: int, is_unknown: bool) -> Found:
    """The offset, which is below `limit` or the latest: that. Raises KafkaError.

    `is_unknown`: a new leader does not know yet how far its predecessor let clients see. Source:
    Partition.fetchOffsetForTimestamp.
    """
    log = partition.log
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, partition.epoch_of(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NONE
    found = None
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp_offset()
    elif timestamp != LATEST:
        found = log.offset_for_timestamp(timestamp)
    if found is not None and found.offset < limit:
        return found.timestamp, found.offset, found.leader_epoch
    if is_unknown:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
    return (-1, limit, partition.leader_epoch) if timestamp == LATEST else _NONE
