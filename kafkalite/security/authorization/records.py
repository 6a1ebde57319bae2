"""Rules for requests about records, producers and transactions in the making."""

from __future__ import annotations

from typing import Any, Final

from kafkalite.requests.slices import Steps, release_set
from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import Place
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Verdict,
    cluster,
    handled,
    kept_if,
    named,
    need,
    refused_whole,
    topic_by_name_or_id,
)
from kafkalite.wire.api_keys import ADD_PARTITIONS_BATCHED_SINCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.record_batch import LOW_ATTRIBUTES_POSITION, TRANSACTIONAL_FLAG


def produce(asked: Asked) -> Steps[Verdict]:
    request = asked.request
    if (yield from _has_transactional(request)) and not (
        request.transactional_id is not None
        and asked.access.may(
            Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
        )
    ):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return (yield from refused_whole(asked, code))
    return (yield from _PRODUCE_TOPICS(asked))


def _written_topic(asked: Asked, element: Any) -> str | None:
    """None if nothing is written to the topic: it is in no response, and no error of acks=0."""
    return topic_by_name_or_id(asked, element) if element.partition_data else None


_PRODUCE_TOPICS: Final = Each(
    need(Operation.WRITE, ResourceType.TOPIC),
    _written_topic,
    Place.AS_ASKED,
    refused_once=True,
)


def _has_transactional(request: Any) -> Steps[bool]:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if _is_transactional(partition.records):
                return True
            yield
    return False


def _is_transactional(records: Any) -> bool:
    return (
        records is not None
        and len(records) > LOW_ATTRIBUTES_POSITION
        and bool(records[LOW_ATTRIBUTES_POSITION] & TRANSACTIONAL_FLAG)
    )


def init_producer_id(asked: Asked) -> Steps[Verdict]:
    access, transactional_id = asked.access, asked.request.transactional_id
    if transactional_id is not None:
        if not access.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            return (
                yield from refused_whole(asked, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            )
    elif not access.may(
        Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, log=False
    ) and not access.may_anywhere(Operation.WRITE, ResourceType.TOPIC):
        return (yield from refused_whole(asked, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    return handled(asked)


def add_partitions_to_txn(asked: Asked) -> Steps[Verdict]:
    """One partition that is refused refuses all (KIP-890: from version 4 on only brokers ask).

    Internal topics are refused whatever ACLs say.
    """
    request, access = asked.request, asked.access
    if asked.version >= ADD_PARTITIONS_BATCHED_SINCE:
        return (yield from cluster(Operation.CLUSTER_ACTION)(asked))
    if not access.may(
        Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.v3_and_below_transactional_id
    ):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return (yield from refused_whole(asked, code))
    topics = request.v3_and_below_topics
    names = (topic.name for topic in topics if topic.name not in INTERNAL_TOPICS)
    allowed = yield from access.allowed(Operation.WRITE, ResourceType.TOPIC, names)
    if not (yield from kept_if(lambda topic: topic.name not in allowed, topics)):
        yield from release_set(allowed)
        return handled(asked)
    verdict = yield from refused_whole(asked, ErrorCode.OPERATION_NOT_ATTEMPTED)
    for topic in verdict.response.results_by_topic_v3_and_below:
        for partition in topic.results_by_partition:
            if topic.name not in allowed:
                partition.partition_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not asked.topics.has_partition(topic.name, partition.partition_index):
                partition.partition_error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            yield
    return verdict


def write_txn_markers(asked: Asked) -> Steps[Verdict]:
    if asked.access.may(Operation.ALTER, ResourceType.CLUSTER, log=False):
        return handled(asked)
    return (yield from cluster(Operation.CLUSTER_ACTION)(asked))


def offset_for_leader_epoch(asked: Asked) -> Steps[Verdict]:
    if asked.access.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, log=False):
        return handled(asked)
    return (yield from Each(need(Operation.DESCRIBE, ResourceType.TOPIC), named("topic"))(asked))
