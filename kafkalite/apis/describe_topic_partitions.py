"""DescribeTopicPartitions (key 75), version 0: topics in pages (KIP-966, KIP-1227).

Topics come in order of name, from the cursor on; an answer holds at most
min(response_partition_limit, max.request.partition.size.limit) partitions, and names where to go
on. An empty list of topics means all. Nothing is created by asking.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.replica.topics import Topic
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import (
    AT_ONCE,
    Steps,
    batches,
    begun,
    in_order,
    large_response,
    mapped,
    release_set,
)
from kafkalite.requests.topic_names import INTERNAL_TOPICS, validate_topic_name
from kafkalite.security.authorized_operations import NOT_ASKED, TOPIC_OPERATIONS
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.describe_topic_partitions import (
    CursorRow,
    DescribeTopicPartitionsRequestRow,
    DescribeTopicPartitionsResponsePartitionRow,
    DescribeTopicPartitionsResponseRow,
    DescribeTopicPartitionsResponseTopicRow,
    TopicRequestRow,
)
from kafkalite.wire.rows import LargeResponse
from kafkalite.wire.schema import KeptRow

if TYPE_CHECKING:
    from kafkalite.cluster.image import PartitionState
    from kafkalite.services import Services

_MANY_PARTITIONS: Final = 1000


def handle(
    services: Services, context: RequestContext, request: DescribeTopicPartitionsRequestRow
) -> DescribeTopicPartitionsResponseRow | Coroutine[Any, Any, LargeResponse]:
    steps = _describe(services, context, request)
    row = begun(steps)
    if row is None:
        return large_response(steps, context)
    return _large(row) if _is_large(row) else row


def _is_large(row: DescribeTopicPartitionsResponseRow) -> bool:
    _, topics, _ = row
    return len(topics) > AT_ONCE or sum(len(topic[4]) for topic in topics) > _MANY_PARTITIONS


async def _large(row: DescribeTopicPartitionsResponseRow) -> LargeResponse:
    return LargeResponse(row)


def _describe(
    services: Services, context: RequestContext, request: DescribeTopicPartitionsRequestRow
) -> Steps[DescribeTopicPartitionsResponseRow]:
    topics, most, cursor = request
    from_name, from_index = cursor or ("", 0)
    named: set[str] = set()
    for some in batches(topics):
        named.update(name for (name,) in some)
        yield
    if cursor is not None and (from_index < 0 or (named and from_name not in named)):
        return (yield from _failed(request, ErrorCode.INVALID_REQUEST))
    if cursor is None and "" in named:
        # Kafka takes the empty name for the cursor's, and fails.
        return (yield from _failed(request, ErrorCode.UNKNOWN_SERVER_ERROR))
    asked = named or {topic.name for topic in services.topics.all()}
    limit = services.config.integer("max.request.partition.size.limit")
    left = max(1, min(limit, most))
    # Rows, of which many are kept (KeptRow): the type of a tuple would copy them.
    found: list[Any] = []
    next_cursor: CursorRow | None = None
    for name in (yield from in_order([*asked])):
        yield
        if name < from_name:
            continue
        if left == 0:
            next_cursor = name, 0
            break
        topic = services.topics.get(name)
        if topic is None:
            if named:
                found.append(_missing(name))
            continue
        start = from_index if cursor and name == from_name else 0
        page = yield from _page(services, context.listener_name, topic, start, left)
        found.append(page)
        left -= len(page[4])
        following = start + len(page[4])
        if start < following < len(topic.states):
            next_cursor = name, following
            break
    yield from release_set(named)
    return 0, found, next_cursor


def _page(
    services: Services, listener_name: str, topic: Topic, start: int, count: int
) -> Steps[KeptRow]:
    cache = services.cluster.topic_cache.setdefault(topic.topic_id.int, {})
    # All of a topic is the same page, whatever is left.
    key = ("describe topic partitions", listener_name, start, min(count, len(topic.states)))
    page: KeptRow | None = cache.get(key)
    if page is None:
        states = topic.states[start : start + count]
        describe = partial(_partition, services, listener_name)
        partitions = yield from mapped(describe, enumerate(states, start))
        page = cache[key] = KeptRow(
            (0, topic.name, topic.topic_id, topic.is_internal, partitions, TOPIC_OPERATIONS)
        )
        page.has_no_errors = True
    return page


def _partition(
    services: Services, listener_name: str, indexed: tuple[int, PartitionState]
) -> DescribeTopicPartitionsResponsePartitionRow:
    index, state = indexed
    cluster = services.cluster
    reachable = cluster.endpoints((state.leader_id,), listener_name)
    return (
        0,
        index,
        state.leader_id if reachable else -1,
        state.leader_epoch,
        state.replicas,
        state.in_sync_replicas,
        state.eligible_leader_replicas,
        state.last_known_eligible,
        cluster.offline_replicas(state, listener_name),
    )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopicRow:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
    except KafkaError as error:
        code = error.code
    return code, name, NO_UUID, name in INTERNAL_TOPICS, (), TOPIC_OPERATIONS


def _failed(
    request: DescribeTopicPartitionsRequestRow, code: ErrorCode
) -> Steps[DescribeTopicPartitionsResponseRow]:
    """There is no error for the whole answer, so every topic carries it."""

    def failed(topic: TopicRequestRow) -> DescribeTopicPartitionsResponseTopicRow:
        return code, topic[0], NO_UUID, False, (), NOT_ASKED

    return 0, (yield from mapped(failed, request[0])), None
