"""Rules for requests to coordinators: groups, their offsets, transactions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Place,
    Rule,
    Verdict,
    cluster,
    handled,
    named,
    need,
    refused_whole,
    shown_if,
    topic_by_name_or_id,
    whole,
)
from kafkalite.security.refusals import mirror_of, refused
from kafkalite.wire.errors import ErrorCode


def find_coordinator(asked: Asked) -> Verdict:
    wanted = {
        0: need(Operation.DESCRIBE, ResourceType.GROUP),
        1: need(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),
    }.get(asked.request.key_type)
    if wanted is None:
        if asked.version < 6:
            return handled(asked)
        return cluster(Operation.CLUSTER_ACTION)(asked)
    if asked.version < 4:
        return whole(wanted, "key")(asked)
    return Each(wanted, named(""), Place.AS_ASKED)(asked)


def sync_group(asked: Asked) -> Verdict:
    request = asked.request
    if asked.version >= 5 and None in (request.protocol_type, request.protocol_name):
        return handled(asked)  # it is refused for another reason first
    return whole(need(Operation.READ, ResourceType.GROUP), "group_id")(asked)


def list_groups(asked: Asked) -> Verdict:
    if asked.access.may(Operation.DESCRIBE, ResourceType.CLUSTER, log=False):
        return handled(asked)
    return shown_if(
        "groups",
        lambda asked, group: asked.access.may(
            Operation.DESCRIBE, ResourceType.GROUP, group.group_id, log=False
        ),
    )(asked)


def offset_fetch(asked: Asked) -> Verdict:
    if asked.version < 8:
        return _offset_fetch_one(asked)
    groups = asked.request.groups
    denied: dict[int, Any] = {}
    kept: list[Any] = []
    hidden: list[list[Any]] = []
    mirror = mirror_of(asked.api_key, asked.request)
    assert mirror is not None
    for index, group in enumerate(groups):
        if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            denied[index] = refused(
                asked.api_key, mirror, group, ErrorCode.GROUP_AUTHORIZATION_FAILED
            )
            continue
        group, refusals = _described_topics(asked, group)
        kept.append(group)
        hidden.append(refusals)
    is_all = [group.topics is None for group in kept]

    def finish(response: Any) -> Any:
        answers = [
            _with_refused_topics(asked, answer, refusals, all_topics)
            for answer, refusals, all_topics in zip(response.groups, hidden, is_all, strict=True)
        ]
        for index, refusal in denied.items():
            answers.insert(index, refusal)
        return replace(response, groups=answers)

    return Verdict(replace(asked.request, groups=kept), finish=finish)


def _offset_fetch_one(asked: Asked) -> Verdict:
    if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, asked.request.group_id):
        return refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    rest, refusals = _described_topics(asked, asked.request)
    is_all = rest.topics is None

    def finish(response: Any) -> Any:
        return _with_refused_topics(asked, response, refusals, is_all)

    return Verdict(rest, finish=finish)


def _described_topics(asked: Asked, group: Any) -> tuple[Any, list[Any]]:
    """A group's request without the topics that may not be described, and their refusals."""
    if group.topics is None:
        return group, []
    names = [
        (topic.name or asked.topics.name_of(topic.topic_id)) if asked.version >= 10 else topic.name
        for topic in group.topics
    ]
    allowed = asked.access.allowed(
        Operation.DESCRIBE, ResourceType.TOPIC, [name for name in names if name]
    )
    kept: list[Any] = []
    refusals: list[Any] = []
    for topic, name in zip(group.topics, names, strict=True):
        if not name or name in allowed:
            kept.append(topic)
        else:
            refusals.append(_refused_offsets(asked, topic))
    return (replace(group, topics=kept), refusals) if refusals else (group, [])


def _refused_offsets(asked: Asked, topic: Any) -> Any:
    from kafkalite.wire.messages.offset_fetch import (
        OffsetFetchResponsePartition,
        OffsetFetchResponsePartitions,
        OffsetFetchResponseTopic,
        OffsetFetchResponseTopics,
    )

    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if asked.version < 8:
        return OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=-1, error_code=error
                )
                for index in topic.partition_indexes
            ],
        )
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=-1, error_code=error
            )
            for index in topic.partition_indexes
        ],
    )


def _with_refused_topics(asked: Asked, answer: Any, refusals: list[Any], is_all: bool) -> Any:
    if answer.error_code != ErrorCode.NONE:
        return answer
    topics = answer.topics
    if is_all:
        topics = [topic for topic in topics if _is_described(asked, topic)]
    return replace(answer, topics=[*topics, *refusals])


def _is_described(asked: Asked, topic: Any) -> bool:
    name = topic_by_name_or_id(asked, topic) if asked.version >= 10 else topic.name
    return name is not None and asked.access.may(Operation.DESCRIBE, ResourceType.TOPIC, name)


def described_groups(asked: Asked) -> Verdict:
    """Groups one by one, with what may be done with them where that was asked for."""
    verdict = Each(need(Operation.DESCRIBE, ResourceType.GROUP), named(""), Place.FIRST)(asked)
    merge = verdict.finish
    with_operations = asked.request.include_authorized_operations

    def finish(response: Any) -> Any:
        groups = response.groups
        if with_operations:
            groups = [
                replace(
                    group,
                    authorized_operations=asked.access.operations(
                        ResourceType.GROUP, group.group_id
                    ),
                )
                if group.error_code == ErrorCode.NONE
                else group
                for group in groups
            ]
        response = replace(response, groups=groups)
        return response if merge is None else merge(response)

    return replace(verdict, finish=finish)


def group_with_topics(message: str) -> Rule:
    """Goes on from `_described_groups`, and hides groups with a topic that may not be described."""

    def rule(asked: Asked) -> Verdict:
        verdict = described_groups(asked)
        merge = verdict.finish

        def finish(response: Any) -> Any:
            response = response if merge is None else merge(response)
            groups = [_hidden(asked, group, message) for group in response.groups]
            return replace(response, groups=groups)

        return replace(verdict, finish=finish)

    return rule


def _hidden(asked: Asked, group: Any, message: str) -> Any:
    names = _topics_of(group)
    if len(asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)) == len(names):
        return group
    return type(group)(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=message,
    )


def _topics_of(group: Any) -> set[str]:
    """The topics that the description of a group tells of."""
    topology = getattr(group, "topology", None)
    if topology is not None:
        return {
            name
            for part in topology.subtopologies or ()
            for name in (
                *part.source_topics,
                *part.repartition_sink_topics,
                *(topic.name for topic in part.repartition_source_topics),
                *(topic.name for topic in part.state_changelog_topics),
            )
        }
    return {
        partitions.topic_name
        for member in group.members
        for assignment in (member.assignment, getattr(member, "target_assignment", None))
        for partitions in getattr(assignment, "topic_partitions", ())
    }


def subscribing_heartbeat(asked: Asked) -> Verdict:
    """READ on the group, and DESCRIBE on every topic that is subscribed by name."""
    if not asked.access.may(Operation.READ, ResourceType.GROUP, asked.request.group_id):
        return refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    names = set(asked.request.subscribed_topic_names or ())
    if len(asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)) < len(names):
        return refused_whole(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return handled(asked)


def describe_transactions(asked: Asked) -> Verdict:
    verdict = Each(
        need(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID), named(""), Place.AS_ASKED
    )(asked)
    merge = verdict.finish

    def finish(response: Any) -> Any:
        response = response if merge is None else merge(response)
        states = [
            replace(
                state,
                topics=[
                    topic
                    for topic in state.topics
                    if asked.access.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
                ],
            )
            for state in response.transaction_states
        ]
        return replace(response, transaction_states=states)

    return replace(verdict, finish=finish)
