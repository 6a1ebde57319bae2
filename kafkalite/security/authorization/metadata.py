"""Rules for requests that describe topics and the cluster."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from kafkalite.requests.slices import (
    Steps,
    batches,
    counted,
    mapped,
    release,
    release_dict,
    release_set,
)
from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.security.access import Access
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import moved
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Verdict,
    finished_by,
    handled,
    kept_if,
    named,
    need,
    refused_one,
    refused_whole,
)
from kafkalite.wire.api_keys import METADATA_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID


def metadata(asked: Asked) -> Steps[Verdict]:
    """Topics that may not be described are refused, or left out where all were asked for."""
    request, access = asked.request, asked.access
    is_all = request.topics is None or (asked.version == 0 and not request.topics)
    denied: list[Any] = []
    rest = request
    if not is_all:
        kept: list[Any] = []
        topics: list[Any] = request.topics or []
        by_id = without_name = False
        for some in batches(topics):
            by_id = by_id or any(topic.topic_id != NO_UUID for topic in some)
            without_name = without_name or any(topic.name is None for topic in some)
            yield
        if asked.version < METADATA_BY_ID_SINCE and (by_id or without_name):
            return handled(asked)  # which refuses the whole request
        seen: set[tuple[str | None, UUID]] = set()
        for topic in topics:
            named_by = topic.name, topic.topic_id
            if named_by in seen:
                continue  # it is answered once, and asked about once
            seen.add(named_by)
            refusal = yield from _refused_topic(asked, topic, by_id)
            if refusal is None:
                kept.append(topic)
            else:
                denied.append(refusal)
            yield
        yield from release_set(seen)
        if denied:
            rest = replace(request, topics=kept)
        else:
            yield from release([kept])
    # An empty list means all in version 0.
    asks_nothing = bool(denied) and not rest.topics
    with_topics = request.include_topic_authorized_operations
    with_cluster = request.include_cluster_authorized_operations

    def finish(response: Any) -> Steps[Any]:
        topics = response.topics
        if asks_nothing:
            topics = []
        elif is_all:
            topics = yield from kept_if(
                lambda topic: access.may(
                    Operation.DESCRIBE, ResourceType.TOPIC, topic.name, log=False
                ),
                topics,
            )
        if with_topics:
            topics = yield from mapped(partial(_with_operations, access), topics)
        response = replace(response, topics=[*topics, *moved(denied)])
        if with_cluster:
            response.cluster_authorized_operations = _cluster_operations(access)
        return response

    return Verdict(rest, finish=finish)


def _refused_topic(asked: Asked, topic: Any, by_id: bool) -> Steps[Any | None]:
    """The refusal of one topic of a Metadata request; None where there is none."""
    name = asked.topics.name_of(topic.topic_id) if by_id else topic.name
    if name is None:
        return None
    access = asked.access
    if not access.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
        refusal = yield from refused_one(asked, topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        # A name is as secret as the topic, an id is not.
        refusal.name, refusal.topic_id = (None, topic.topic_id) if by_id else (name, NO_UUID)
        return refusal
    if by_id or asked.topics.id_of(name) is not None:
        return None
    would_create = asked.topics.creates_topics and asked.request.allow_auto_topic_creation
    if not would_create or access.may(Operation.CREATE, ResourceType.CLUSTER, log=False):
        return None
    if access.may(Operation.CREATE, ResourceType.TOPIC, name):
        return None
    refusal = yield from refused_one(asked, topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    refusal.is_internal = name in INTERNAL_TOPICS
    return refusal


def _with_operations(access: Access, topic: Any) -> Any:
    # A topic that is not there is asked about by its empty name.
    operations = access.operations(ResourceType.TOPIC, topic.name or "")
    return replace(topic, topic_authorized_operations=operations)


def _cluster_operations(access: Access) -> int:
    return (
        access.operations(ResourceType.CLUSTER)
        if access.may(Operation.DESCRIBE, ResourceType.CLUSTER)
        else 0
    )


def describe_topic_partitions(asked: Asked) -> Steps[Verdict]:
    cursor, topics = asked.request.cursor, asked.request.topics
    if cursor is not None and cursor.partition_index < 0:
        return handled(asked)  # it is refused for that to anybody
    if not topics:
        return (yield from _described_all(asked))
    if cursor is not None:
        counts = yield from counted(topic.name for topic in topics)
        is_named = cursor.topic_name in counts
        yield from release_dict(counts)
        if not is_named:
            return handled(asked)  # as above
        # Topics before the cursor were described before.
        topics = yield from kept_if(lambda topic: topic.name >= cursor.topic_name, topics)
    # Kafka takes a name that comes again once.
    by_name: dict[str, Any] = {}
    for some in batches(topics):
        by_name.update((topic.name, topic) for topic in some)
        yield
    once = replace(asked, request=replace(asked.request, topics=list(by_name.values())))
    verdict = yield from Each(need(Operation.DESCRIBE, ResourceType.TOPIC), named("name"))(once)
    if cursor is None and "" in by_name and by_name[""] in verdict.request.topics:
        return handled(asked)  # Kafka fails with all of the request
    may = asked.access.may
    if cursor and not may(Operation.DESCRIBE, ResourceType.TOPIC, cursor.topic_name, log=False):
        # All that is left comes behind it.
        verdict.request = replace(verdict.request, cursor=None)
    merge = verdict.finish

    def finish(response: Any) -> Steps[Any]:
        topics = yield from mapped(partial(_with_operations, asked.access), response.topics)
        response = replace(response, topics=topics)
        return response if merge is None else (yield from merge(response))

    if not verdict.request.topics:
        # Nothing is left to ask: an empty list would mean all topics.
        return (yield from refused_whole(once, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return replace(verdict, finish=finish)


def _described_all(asked: Asked) -> Steps[Verdict]:
    """All topics that may be described are asked for by name: no others fill a page or end it."""
    from kafkalite.wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsResponse,
        TopicRequest,
    )

    request, cursor = asked.request, asked.request.cursor
    first = "" if cursor is None else cursor.topic_name
    names = yield from kept_if(lambda name: name >= first, asked.topics.names())
    allowed = yield from asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if not allowed:
        return Verdict(response=DescribeTopicPartitionsResponse(), is_final=True)
    topics = yield from mapped(TopicRequest, allowed)

    def finish(response: Any) -> Steps[Any]:
        # A topic may have gone meanwhile.
        found = yield from kept_if(lambda topic: not topic.error_code, response.topics)
        found = yield from mapped(partial(_with_operations, asked.access), found)
        return replace(response, topics=found)

    by_name = replace(request, topics=topics, cursor=cursor if first in allowed else None)
    return Verdict(by_name, finish=finish)


def describe_cluster(asked: Asked) -> Steps[Verdict]:
    if asked.request.include_cluster_authorized_operations:
        return (yield from finished_by(_with_cluster_operations)(asked))
    return handled(asked)


def _with_cluster_operations(asked: Asked, response: Any) -> Steps[Any]:
    yield
    if response.error_code != ErrorCode.NONE:
        return response
    return replace(response, cluster_authorized_operations=_cluster_operations(asked.access))
