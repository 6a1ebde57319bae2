"""DescribeTopicPartitions (key 75), version 0: topics in pages (KIP-966, KIP-1227).

Topics come in order of name, from the cursor on; an answer holds at most
min(response_partition_limit, max.request.partition.size.limit) partitions, and names where to go
on. An empty list of topics means all. Nothing is created by asking.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.replica.topics import Topic
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, in_order, in_slices, mapped, release_set
from kafkalite.requests.topic_names import INTERNAL_TOPICS, validate_topic_name
from kafkalite.security.authorized_operations import TOPIC_OPERATIONS
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from kafkalite.cluster.image import PartitionState
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    return await in_slices(_describe(services, context, request), context)


def _describe(
    services: Services, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> Steps[DescribeTopicPartitionsResponse]:
    cursor = request.cursor
    from_name = cursor.topic_name if cursor else ""
    named: set[str] = set()
    for some in batches(request.topics):
        named.update(topic.name for topic in some)
        yield
    if cursor is not None and (cursor.partition_index < 0 or (named and from_name not in named)):
        return (yield from _failed(request, ErrorCode.INVALID_REQUEST))
    if cursor is None and "" in named:
        # Kafka takes the empty name for the cursor's, and fails.
        return (yield from _failed(request, ErrorCode.UNKNOWN_SERVER_ERROR))
    asked = named or {topic.name for topic in services.topics.all()}
    limit = services.config.integer("max.request.partition.size.limit")
    left = max(1, min(limit, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in (yield from in_order([*asked])):
        yield
        if name < from_name:
            continue
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = services.topics.get(name)
        if topic is None:
            if named:
                response.topics.append(_missing(name))
            continue
        start = cursor.partition_index if cursor and name == from_name else 0
        page = yield from _page(services, context.listener_name, topic, start, left)
        response.topics.append(page)
        left -= len(page.partitions)
        following = start + len(page.partitions)
        if start < following < len(topic.states):
            response.next_cursor = Cursor(topic_name=name, partition_index=following)
            break
    yield from release_set(named)
    return response


def _page(
    services: Services, listener_name: str, topic: Topic, start: int, count: int
) -> Steps[DescribeTopicPartitionsResponseTopic]:
    cache = services.cluster.topic_cache.setdefault(topic.topic_id.int, {})
    key = ("describe topic partitions", listener_name, start, count)
    page: DescribeTopicPartitionsResponseTopic | None = cache.get(key)
    if page is None:
        states = topic.states[start : start + count]
        describe = partial(_partition, services, listener_name)
        partitions = yield from mapped(describe, enumerate(states, start))
        page = cache[key] = DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=partitions,
            topic_authorized_operations=TOPIC_OPERATIONS,
        )
    return page


def _partition(
    services: Services, listener_name: str, indexed: tuple[int, PartitionState]
) -> DescribeTopicPartitionsResponsePartition:
    index, state = indexed
    cluster = services.cluster
    reachable = cluster.endpoints((state.leader_id,), listener_name)
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,
        partition_index=index,
        leader_id=state.leader_id if reachable else -1,
        leader_epoch=state.leader_epoch,
        replica_nodes=state.replicas,
        isr_nodes=state.in_sync_replicas,
        eligible_leader_replicas=state.eligible_leader_replicas,
        last_known_elr=state.last_known_eligible,
        offline_replicas=cluster.unavailable(state.replicas, listener_name),
    )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
    except KafkaError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _failed(
    request: DescribeTopicPartitionsRequest, code: ErrorCode
) -> Steps[DescribeTopicPartitionsResponse]:
    """There is no error for the whole answer, so every topic carries it."""
    topics = yield from mapped(
        lambda topic: DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name),
        request.topics,
    )
    return DescribeTopicPartitionsResponse(topics=topics)
