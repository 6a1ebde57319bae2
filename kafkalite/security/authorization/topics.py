"""Rules for requests that create, delete and configure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kafkalite.requests.slices import Steps, mapped
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Place,
    Rule,
    Verdict,
    finished_by,
    handled,
    interleaved,
    moved,
    named,
    need,
)
from kafkalite.security.refusals import mirror_of, refused
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode


def create_topics(asked: Asked) -> Steps[Verdict]:
    """CREATE on the cluster or the topic; configs are told where DESCRIBE_CONFIGS is allowed."""
    if asked.access.may(Operation.CREATE, ResourceType.CLUSTER, log=False):
        return (yield from finished_by(_with_described_configs)(asked))
    return (yield from finished_by(_with_described_configs, _CREATED_ONE_BY_ONE)(asked))


_CREATED_ONE_BY_ONE: Final = Each(
    need(Operation.CREATE, ResourceType.TOPIC), named("name"), message="Authorization failed."
)


def _with_described_configs(asked: Asked, response: Any) -> Steps[Any]:
    def described(topic: Any) -> Any:
        if topic.error_code != ErrorCode.NONE or asked.access.may(
            Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name, log=False
        ):
            return topic
        return replace(
            topic,
            topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            num_partitions=-1,
            replication_factor=-1,
            configs=[],
        )

    return replace(response, topics=(yield from mapped(described, response.topics)))


def delete_topics(asked: Asked) -> Steps[Verdict]:
    """DELETE on the topic or the cluster; what may not be described does not seem to exist."""
    if asked.access.may(Operation.DELETE, ResourceType.CLUSTER, log=False):
        return handled(asked)
    mirror = mirror_of(asked.api_key, asked.request)
    assert mirror is not None
    kept: list[Any] = []
    denied: list[Any] = []
    asked_topics: list[Any] = getattr(asked.request, mirror.asked)
    for topic in asked_topics:
        yield
        is_name = isinstance(topic, str)
        name: str | None = topic if is_name else topic.name
        by_id = name is None
        if by_id:
            name = asked.topics.name_of(topic.topic_id)
        if name is None:
            kept.append(topic)
            continue
        # Both are always asked, and so logged.
        may_see = asked.access.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
        may_delete = asked.access.may(Operation.DELETE, ResourceType.TOPIC, name)
        # A missing topic is named as such to those who could see it.
        if may_see and (may_delete or asked.topics.id_of(name) is None):
            kept.append(topic)
            continue
        refusal = yield from refused(
            asked.api_key,
            mirror,
            topic,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            default_message(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        )
        refusal.name = name if may_see or not by_id else None
        denied.append(refusal)

    def finish(response: Any) -> Steps[Any]:
        yield
        return replace(response, responses=[*response.responses, *moved(denied)])

    return Verdict(replace(asked.request, **{mirror.asked: kept}), finish=finish)


# ConfigResource.Type
_TOPIC_CONFIG, _BROKER_CONFIG, _LOGGER_CONFIG, _METRICS_CONFIG, _GROUP_CONFIG = 2, 4, 8, 16, 32


def configs(operation: Operation, place: Place) -> Rule:
    """The operation on the topic or group, for everything else on the cluster."""
    needs = {
        _TOPIC_CONFIG: need(operation, ResourceType.TOPIC),
        _GROUP_CONFIG: need(operation, ResourceType.GROUP),
        _BROKER_CONFIG: need(operation, ResourceType.CLUSTER),
        _LOGGER_CONFIG: need(operation, ResourceType.CLUSTER),
        _METRICS_CONFIG: need(operation, ResourceType.CLUSTER),
    }

    def rule(asked: Asked) -> Steps[Verdict]:
        mirror = mirror_of(asked.api_key, asked.request)
        assert mirror is not None
        kept: list[Any] = []
        denied: dict[int, Any] = {}
        for index, resource in enumerate(asked.request.resources):
            yield
            wanted = needs.get(resource.resource_type)
            if wanted is None or _may_configure(asked, wanted, resource.resource_name):
                kept.append(resource)
                continue
            message = default_message(wanted.error)
            denied[index] = yield from refused(
                asked.api_key, mirror, resource, wanted.error, message
            )
        if not denied:
            return handled(asked)

        def finish(response: Any) -> Steps[Any]:
            answers = getattr(response, mirror.answered)
            if place is Place.AS_ASKED:
                answers = yield from interleaved(answers, denied)
            else:
                answers = [*answers, *moved(denied).values()]
            return replace(response, **{mirror.answered: answers})

        return Verdict(replace(asked.request, resources=kept), finish=finish)

    return rule


def _may_configure(asked: Asked, wanted: Any, name: str) -> bool:
    if wanted.resource_type is ResourceType.CLUSTER:
        return asked.access.may(wanted.operation, ResourceType.CLUSTER)
    return asked.access.may(wanted.operation, wanted.resource_type, name)
