"""Rules for share groups (KIP-932): their offsets, and their sessions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from kafkalite.requests.slices import Steps, mapped, mapped_in_steps
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import interleaved, moved
from kafkalite.security.authorization.rules import (
    Asked,
    Verdict,
    handled,
    kept_if,
    refused_one,
    refused_whole,
)
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def session(asked: Asked) -> Steps[Verdict]:
    """READ on the group; the handlers ask for each partition's topic (RequestContext.may_read)."""
    group_id = asked.request.group_id
    if group_id is None or asked.access.may(Operation.READ, ResourceType.GROUP, group_id):
        return handled(asked)  # None is refused for another reason
    return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))


def describe_offsets(asked: Asked) -> Steps[Verdict]:
    """DESCRIBE on each group, and on each topic; unless they were named, topics are left out in
    silence."""
    refusals: dict[int, Any] = {}
    kept: list[Any] = []
    hidden: list[list[Any]] = []
    for index, group in enumerate(asked.request.groups):
        yield
        if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            refusals[index] = yield from refused_one(asked, group, code)
            continue
        allowed, denied = yield from _split(asked, Operation.DESCRIBE, group.topics or ())
        kept.append(replace(group, topics=allowed) if denied else group)
        hidden.append((yield from mapped_in_steps(_undescribed, denied)))
    is_all = [group.topics is None for group in kept]

    def finish(response: Any) -> Steps[Any]:
        groups: list[Any] = []
        for group, topic_refusals, all_topics in zip(response.groups, hidden, is_all, strict=True):
            topics = group.topics
            if group.error_code == ErrorCode.NONE:
                if all_topics:
                    topics, _ = yield from _split(asked, Operation.DESCRIBE, topics)
                topics = [*topics, *moved(topic_refusals)]
            groups.append(replace(group, topics=topics))
            yield
        return replace(response, groups=(yield from interleaved(groups, refusals)))

    return Verdict(replace(asked.request, groups=kept), finish=finish)


def _undescribed(topic: Any) -> Steps[Any]:
    from kafkalite.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponsePartition as Partition,
    )
    from kafkalite.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponseTopic as Topic,
    )

    def undescribed(index: int) -> Partition:
        return Partition(
            partition_index=index,
            start_offset=-1,
            lag=-1,
            error_code=_DENIED,
            error_message=default_message(_DENIED),
        )

    partitions = yield from mapped(undescribed, topic.partitions)
    return Topic(topic_name=topic.topic_name, topic_id=NO_UUID, partitions=partitions)


def alter_offsets(asked: Asked) -> Steps[Verdict]:
    """READ on the group and on each topic."""

    def refused_topic(topic: Any) -> Steps[Any]:
        refusal = yield from _refused_topic(asked, topic)
        refusal.topic_id = asked.topics.id_of(topic.topic_name) or NO_UUID
        return refusal

    return (yield from _offsets_of(asked, Operation.READ, refused_topic))


def delete_offsets(asked: Asked) -> Steps[Verdict]:
    """DELETE on the group, READ on each topic."""
    return (yield from _offsets_of(asked, Operation.DELETE, partial(_refused_topic, asked)))


def _refused_topic(asked: Asked, topic: Any) -> Steps[Any]:
    return refused_one(asked, topic, _DENIED, default_message(_DENIED))


def _offsets_of(asked: Asked, operation: Operation, refuse: Any) -> Steps[Verdict]:
    """The operation on the group; topics that may not be read are answered first."""
    if not asked.access.may(operation, ResourceType.GROUP, asked.request.group_id):
        return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    allowed, denied = yield from _split(asked, Operation.READ, asked.request.topics)
    if not denied:
        return handled(asked)
    refusals = yield from mapped_in_steps(refuse, denied)

    def finish(response: Any) -> Steps[Any]:
        yield
        if response.error_code != ErrorCode.NONE:
            return response
        return replace(response, responses=[*moved(refusals), *response.responses])

    return Verdict(replace(asked.request, topics=allowed), finish=finish)


def _split(asked: Asked, operation: Operation, topics: Any) -> Steps[tuple[list[Any], list[Any]]]:
    """Topics with which the operation is allowed, and those with which it is not."""
    allowed = yield from asked.access.allowed(
        operation, ResourceType.TOPIC, [topic.topic_name for topic in topics]
    )
    return (
        (yield from kept_if(lambda topic: topic.topic_name in allowed, topics)),
        (yield from kept_if(lambda topic: topic.topic_name not in allowed, topics)),
    )
