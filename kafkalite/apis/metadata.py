"""Metadata (key 3), versions 0-13: the nodes, and topics with their partitions and leaders.

- v0: an empty list of topics means all; v1+: null means all, empty none. v0 also hides replicas
  that are down, and says so with REPLICA_NOT_AVAILABLE.
- v4+: `allow_auto_topic_creation`; before, it is always allowed. Asking for all creates nothing.
- v6+: a leader without this listener is LISTENER_NOT_FOUND, before LEADER_NOT_AVAILABLE.
- v8-10: the cluster's authorized operations; v8+: the topics' (KIP-430).
- v10+: topic ids in the answer; v12+: topics may be asked for by id (KIP-516).
- v13: an error for the whole answer.

A topic created by asking for it is not in the answer to that question, as in Kafka: it is
UNKNOWN_TOPIC_OR_PARTITION once, and clients ask again.

Producers, consumers and idle Spark streams send this all day: what it says of a topic is put
together once per change of the metadata.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.cluster.internal_topics import INTERNAL_TOPICS
from kafkalite.cluster.topic_creation import NewTopic, validate_topic_name
from kafkalite.replica.topics import Topic
from kafkalite.requests.context import RequestContext
from kafkalite.security.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from kafkalite.cluster.image import PartitionState
    from kafkalite.services import Services

_NO_ID: Final = UUID(int=0)
_NO_LEADER: Final = -1


async def handle(
    services: Services, context: RequestContext, request: MetadataRequest
) -> MetadataResponse:
    version = context.api_version
    asked = request.topics
    if version < 12 and any(topic.name is None or topic.topic_id.int for topic in asked or ()):
        return _failed(asked or (), version, ErrorCode.INVALID_REQUEST)
    by_id = any(topic.topic_id.int for topic in asked or ())
    if not by_id and any(topic.name is None for topic in asked or ()):
        # Neither name nor id: Kafka has no words for it either. Where one has an id, it looks at no name.
        return _failed(asked or (), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    if asked is None or (version == 0 and not asked):
        topics = [_describe(services, context, topic) for topic in services.topics.all()]
    else:
        topics = _describe_asked(services, context, request, asked)
    response = MetadataResponse(
        brokers=_brokers(services, context.listener_name),
        cluster_id=services.cluster.cluster_id,
        controller_id=services.cluster.controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    if request.include_topic_authorized_operations:
        response.topics = [
            dataclasses.replace(topic, topic_authorized_operations=TOPIC_OPERATIONS)
            if topic.name is not None
            else topic
            for topic in topics
        ]
    return response


def _describe_asked(
    services: Services,
    context: RequestContext,
    request: MetadataRequest,
    asked: list[MetadataRequestTopic],
) -> list[MetadataResponseTopic]:
    """By id if any id is given, else by name; each topic once."""
    found: list[MetadataResponseTopic] = []
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id.int)
    for topic_id in ids:
        topic = services.topics.by_id(topic_id)
        if topic is None:
            found.append(
                MetadataResponseTopic(
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
                )
            )
        else:
            found.append(_describe(services, context, topic))
    if ids:
        return found
    for name in dict.fromkeys(topic.name for topic in asked):
        topic = None if name is None else services.topics.get(name)
        if topic is not None:
            found.append(_describe(services, context, topic))
        elif name is not None:
            found.append(_missing(services, name, create=request.allow_auto_topic_creation))
    return found


def _missing(services: Services, name: str, *, create: bool) -> MetadataResponseTopic:
    """A topic that is not there, and what the answer says of it while it is being created."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
        if create and services.config.boolean("auto.create.topics.enable"):
            if name in INTERNAL_TOPICS:
                services.topics.create_internal(name)
            else:
                services.topics.create(NewTopic(name))
    except KafkaError as error:
        code = error.code
    return MetadataResponseTopic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS)


def _brokers(services: Services, listener_name: str) -> list[MetadataResponseBroker]:
    cache = services.cluster.cache
    key = ("metadata brokers", listener_name)
    brokers: list[MetadataResponseBroker] | None = cache.get(key)
    if brokers is None:
        brokers = cache[key] = [
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in services.cluster.addresses(listener_name)
        ]
    return brokers


def _describe(services: Services, context: RequestContext, topic: Topic) -> MetadataResponseTopic:
    cache = services.cluster.topic_cache.setdefault(topic.topic_id, {})
    # What is said differs between these three; what a version leaves out, the encoding leaves out.
    kind = 0 if context.api_version == 0 else 1 if context.api_version < 6 else 6
    key = ("metadata", context.listener_name, kind)
    described: MetadataResponseTopic | None = cache.get(key)
    if described is None:
        described = cache[key] = MetadataResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[
                _partition(services, context.listener_name, kind, index, state)
                for index, state in enumerate(topic.states)
            ],
        )
    return described


def _partition(
    services: Services, listener_name: str, kind: int, index: int, state: PartitionState
) -> MetadataResponsePartition:
    cluster = services.cluster
    offline = cluster.unavailable(state.replicas, listener_name)
    replicas, in_sync = state.replicas, state.in_sync_replicas
    if kind == 0 and offline:
        replicas = [node for node in replicas if node not in offline]
        in_sync = [node for node in in_sync if node not in offline]
    leader_id, code = state.leader_id, ErrorCode.NONE
    if not cluster.endpoints((leader_id,), listener_name):
        known = leader_id in cluster.nodes
        code = (
            ErrorCode.LISTENER_NOT_FOUND if known and kind >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
        )
        leader_id = _NO_LEADER
    elif len(replicas) < len(state.replicas):
        code = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader_id,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=in_sync,
        offline_replicas=offline,
    )


def _failed(
    asked: Sequence[MetadataRequestTopic], version: int, code: ErrorCode
) -> MetadataResponse:
    """The request makes no sense: every topic is answered with the error."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=code,
                name=topic.name or "",
                topic_id=topic.topic_id if version >= 10 else _NO_ID,
            )
            for topic in asked
        ],
        error_code=code,
    )
