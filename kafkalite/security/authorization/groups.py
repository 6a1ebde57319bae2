"""Rules for requests to coordinators: groups, their offsets, transactions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

from kafkalite.group_coordinator.heartbeat_checks import is_share_member_id
from kafkalite.requests.slices import Steps, mapped, mapped_in_steps, release, release_set
from kafkalite.requests.topology_names import topic_names
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import Place, interleaved, moved
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Rule,
    Verdict,
    cluster,
    finished_by,
    handled,
    kept_if,
    named,
    need,
    refused_one,
    refused_whole,
    shown_if,
    topic_by_name_or_id,
    whole,
)
from kafkalite.wire.api_keys import (
    FIND_COORDINATOR_BATCHED_SINCE,
    FIND_SHARE_COORDINATOR_SINCE,
    OFFSET_FETCH_BATCHED_SINCE,
    SYNC_GROUP_PROTOCOL_SINCE,
    ApiKey,
    CoordinatorType,
)
from kafkalite.wire.errors import ErrorCode


def find_coordinator(asked: Asked) -> Steps[Verdict]:
    wanted = {
        CoordinatorType.GROUP: need(Operation.DESCRIBE, ResourceType.GROUP),
        CoordinatorType.TRANSACTION: need(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),
    }.get(asked.request.key_type)
    if wanted is None:
        is_share = asked.request.key_type == CoordinatorType.SHARE
        if asked.version < FIND_SHARE_COORDINATOR_SINCE or not is_share:
            return handled(asked)
        return (yield from cluster(Operation.CLUSTER_ACTION)(asked))
    if asked.version < FIND_COORDINATOR_BATCHED_SINCE:
        return (yield from whole(wanted, "key")(asked))
    # Kafka's broker tells an empty text beside these errors.
    return (yield from Each(wanted, named(""), Place.AS_ASKED, message="")(asked))


def sync_group(asked: Asked) -> Steps[Verdict]:
    request = asked.request
    protocol = request.protocol_type, request.protocol_name
    if asked.version >= SYNC_GROUP_PROTOCOL_SINCE and None in protocol:
        return handled(asked)  # it is refused for another reason first
    return (yield from whole(need(Operation.READ, ResourceType.GROUP), "group_id")(asked))


def list_groups(asked: Asked) -> Steps[Verdict]:
    if asked.access.may(Operation.DESCRIBE, ResourceType.CLUSTER, log=False):
        return handled(asked)
    return (
        yield from shown_if(
            "groups",
            lambda asked, group: asked.access.may(
                Operation.DESCRIBE, ResourceType.GROUP, group.group_id, log=False
            ),
        )(asked)
    )


def offset_fetch(asked: Asked) -> Steps[Verdict]:
    if asked.version < OFFSET_FETCH_BATCHED_SINCE:
        return (yield from _offset_fetch_one(asked))
    groups = asked.request.groups
    denied: dict[int, Any] = {}
    kept: list[Any] = []
    hidden: list[list[Any]] = []
    for index, group in enumerate(groups):
        yield
        if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED
            denied[index] = yield from refused_one(asked, group, code)
            continue
        group, refusals = yield from _described_topics(asked, group)
        kept.append(group)
        hidden.append(refusals)
    is_all = [group.topics is None for group in kept]

    def finish(response: Any) -> Steps[Any]:
        answers: list[Any] = []
        for answer, refusals, all_topics in zip(response.groups, hidden, is_all, strict=True):
            answers.append((yield from _with_refused_topics(asked, answer, refusals, all_topics)))
            yield
        return replace(response, groups=(yield from interleaved(answers, denied)))

    return Verdict(replace(asked.request, groups=kept), finish=finish)


def _offset_fetch_one(asked: Asked) -> Steps[Verdict]:
    if not asked.access.may(Operation.DESCRIBE, ResourceType.GROUP, asked.request.group_id):
        return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    rest, refusals = yield from _described_topics(asked, asked.request)
    is_all = rest.topics is None

    return Verdict(
        rest,
        finish=lambda response: _with_refused_topics(asked, response, refusals, is_all),
    )


def _described_topics(asked: Asked, group: Any) -> Steps[tuple[Any, list[Any]]]:
    """A group's request without the topics that may not be described, and their refusals."""
    if group.topics is None:
        return group, []
    names = yield from mapped(partial(topic_by_name_or_id, asked), group.topics)
    allowed = yield from asked.access.allowed(
        Operation.DESCRIBE, ResourceType.TOPIC, (name for name in names if name is not None)
    )
    kept: list[Any] = []
    refusals: list[Any] = []
    for topic, name in zip(group.topics, names, strict=True):
        if name is None or name in allowed:
            kept.append(topic)
        else:
            refusals.append((yield from _refused_offsets(asked, topic)))
        yield
    yield from release_set(allowed)
    if refusals:
        return replace(group, topics=kept), refusals
    yield from release([kept, names])
    return group, []


def _refused_offsets(asked: Asked, topic: Any) -> Steps[Any]:
    is_in_group = asked.version >= OFFSET_FETCH_BATCHED_SINCE
    return refused_one(asked, topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED, is_inner=is_in_group)


def _with_refused_topics(
    asked: Asked, answer: Any, refusals: list[Any], is_all: bool
) -> Steps[Any]:
    if answer.error_code != ErrorCode.NONE:
        return answer
    topics = answer.topics
    if is_all:
        topics = yield from kept_if(partial(_is_described, asked), topics)
    return replace(answer, topics=[*topics, *moved(refusals)])


def _is_described(asked: Asked, topic: Any) -> bool:
    name = topic_by_name_or_id(asked, topic)
    return name is not None and asked.access.may(Operation.DESCRIBE, ResourceType.TOPIC, name)


def described_groups(asked: Asked) -> Steps[Verdict]:
    """Groups one by one, with what may be done with them where that was asked for."""
    rule = Each(need(Operation.DESCRIBE, ResourceType.GROUP), named(""), Place.FIRST)
    if asked.request.include_authorized_operations:
        return (yield from finished_by(_with_operations, rule)(asked))
    return (yield from rule(asked))


def _with_operations(asked: Asked, response: Any) -> Steps[Any]:
    def with_operations(group: Any) -> Any:
        if group.error_code != ErrorCode.NONE:
            return group
        operations = asked.access.operations(ResourceType.GROUP, group.group_id)
        return replace(group, authorized_operations=operations)

    return replace(response, groups=(yield from mapped(with_operations, response.groups)))


def group_with_topics(message: str) -> Rule:
    """Goes on from `described_groups`, and hides groups with a topic that may not be described."""

    def finish(asked: Asked, response: Any) -> Steps[Any]:
        groups = yield from mapped_in_steps(
            lambda group: _hidden(asked, group, message), response.groups
        )
        return replace(response, groups=groups)

    return finished_by(finish, described_groups)


def _hidden(asked: Asked, group: Any, message: str) -> Steps[Any]:
    names = _topics_of(group)
    allowed = yield from asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if len(allowed) == len(names):
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
        return set(topic_names(topology))
    return {
        partitions.topic_name
        for member in group.members
        for assignment in (member.assignment, getattr(member, "target_assignment", None))
        for partitions in getattr(assignment, "topic_partitions", ())
    }


def subscribing_heartbeat(asked: Asked) -> Steps[Verdict]:
    """READ on the group, and DESCRIBE on every topic that is subscribed by name."""
    if not asked.access.may(Operation.READ, ResourceType.GROUP, asked.request.group_id):
        return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    is_share = asked.api_key is ApiKey.SHARE_GROUP_HEARTBEAT
    if is_share and not is_share_member_id(asked.request.member_id):
        return handled(asked)  # it is refused for that
    names = asked.request.subscribed_topic_names or ()
    allowed = yield from asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    refused_names = yield from kept_if(lambda name: name not in allowed, names)
    if refused_names:
        return (yield from refused_whole(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return handled(asked)


def _with_described_topics(asked: Asked, response: Any) -> Steps[Any]:
    states: list[Any] = []
    for state in response.transaction_states:
        topics = yield from kept_if(
            lambda topic: asked.access.may(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic),
            state.topics,
        )
        states.append(replace(state, topics=topics))
        yield
    return replace(response, transaction_states=states)


describe_transactions: Final = finished_by(
    _with_described_topics,
    Each(need(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID), named(""), Place.AS_ASKED),
)
