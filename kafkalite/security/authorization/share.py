"""Rules for share groups (KIP-932): their offsets, and their sessions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import Asked, Verdict, handled, refused_whole
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_NO_ID: Final = UUID(int=0)


def session(asked: Asked) -> Verdict:
    """READ on the group; the handlers ask for each partition's topic (RequestContext.may_read)."""
    group_id = asked.request.group_id
    if group_id is None or asked.access.may(Operation.READ, ResourceType.GROUP, group_id):
        return handled(asked)  # None is refused for another reason
    return refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED)


def describe_offsets(asked: Asked) -> Verdict:
    """DESCRIBE on each group, and on each topic; unless they were named, topics are left out in
    silence."""
    from kafkalite.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponseGroup as Group,
    )

    refused: dict[int, Any] = {}
    kept: list[Any] = []
    hidden: list[list[Any]] = []
    for index, group in enumerate(asked.request.groups):
        if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            refused[index] = Group(
                group_id=group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
            )
            continue
        allowed, denied = _split(asked, Operation.DESCRIBE, group.topics or ())
        kept.append(replace(group, topics=allowed) if denied else group)
        hidden.append([_undescribed(topic) for topic in denied])
    is_all = [group.topics is None for group in kept]

    def finish(response: Any) -> Any:
        groups: list[Any] = []
        for group, refusals, all_topics in zip(response.groups, hidden, is_all, strict=True):
            topics = group.topics
            if group.error_code == ErrorCode.NONE:
                if all_topics:
                    topics, _ = _split(asked, Operation.DESCRIBE, topics)
                topics = [*topics, *refusals]
            groups.append(replace(group, topics=topics))
        for index, refusal in refused.items():
            groups.insert(index, refusal)
        return replace(response, groups=groups)

    return Verdict(replace(asked.request, groups=kept), finish=finish)


def _undescribed(topic: Any) -> Any:
    from kafkalite.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponsePartition as Partition,
    )
    from kafkalite.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponseTopic as Topic,
    )

    return Topic(
        topic_name=topic.topic_name,
        topic_id=_NO_ID,
        partitions=[
            Partition(
                partition_index=index,
                start_offset=-1,
                lag=-1,
                error_code=_DENIED,
                error_message=default_message(_DENIED),
            )
            for index in topic.partitions
        ],
    )


def alter_offsets(asked: Asked) -> Verdict:
    """READ on the group and on each topic."""
    from kafkalite.wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsResponsePartition as Partition,
    )
    from kafkalite.wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsResponseTopic as Topic,
    )

    def refused(topic: Any) -> Any:
        return Topic(
            topic_name=topic.topic_name,
            topic_id=asked.topics.id_of(topic.topic_name) or _NO_ID,
            partitions=[
                Partition(
                    partition_index=each.partition_index,
                    error_code=_DENIED,
                    error_message=default_message(_DENIED),
                )
                for each in topic.partitions
            ],
        )

    return _offsets_of(asked, Operation.READ, refused)


def delete_offsets(asked: Asked) -> Verdict:
    """DELETE on the group, READ on each topic."""
    from kafkalite.wire.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsResponseTopic as Topic,
    )

    def refused(topic: Any) -> Any:
        return Topic(
            topic_name=topic.topic_name,
            topic_id=_NO_ID,
            error_code=_DENIED,
            error_message=default_message(_DENIED),
        )

    return _offsets_of(asked, Operation.DELETE, refused)


def _offsets_of(asked: Asked, operation: Operation, refused: Any) -> Verdict:
    """The operation on the group; topics that may not be read are answered first."""
    if not asked.access.may(operation, ResourceType.GROUP, asked.request.group_id):
        code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        return refused_whole(asked, code, default_message(code))
    allowed, denied = _split(asked, Operation.READ, asked.request.topics)
    if not denied:
        return handled(asked)
    refusals = [refused(topic) for topic in denied]

    def finish(response: Any) -> Any:
        if response.error_code != ErrorCode.NONE:
            return response
        return replace(response, responses=[*refusals, *response.responses])

    return Verdict(replace(asked.request, topics=allowed), finish=finish)


def _split(asked: Asked, operation: Operation, topics: Any) -> tuple[list[Any], list[Any]]:
    """Topics with which the operation is allowed, and those with which it is not."""
    allowed = asked.access.allowed(
        operation, ResourceType.TOPIC, [topic.topic_name for topic in topics]
    )
    return (
        [topic for topic in topics if topic.topic_name in allowed],
        [topic for topic in topics if topic.topic_name not in allowed],
    )
