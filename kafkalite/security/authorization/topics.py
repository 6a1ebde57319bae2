"""Rules for requests that create, delete and configure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from kafkalite.config import java_text
from kafkalite.requests.mirrors import mirror_of
from kafkalite.requests.slices import Steps, batches, counted, mapped, release_dict
from kafkalite.requests.topic_names import METADATA_TOPIC
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import Place, interleaved, moved
from kafkalite.security.authorization.rules import (
    Asked,
    Each,
    Rule,
    Verdict,
    finished_by,
    handled,
    need,
    refused_one,
)
from kafkalite.wire.api_keys import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID


def create_topics(asked: Asked) -> Steps[Verdict]:
    """CREATE on the cluster or the topic; configs are told where DESCRIBE_CONFIGS is allowed."""
    if asked.access.may(Operation.CREATE, ResourceType.CLUSTER, log=False):
        return (yield from finished_by(_with_described_configs)(asked))
    return (yield from finished_by(_with_described_configs, _CREATED_ONE_BY_ONE)(asked))


def _created(asked: Asked, topic: Any) -> str | None:
    """The name of a topic to be created; None for the one that must not be created."""
    name: str = topic.name
    return None if name == METADATA_TOPIC else name


_CREATED_ONE_BY_ONE: Final = Each(
    need(Operation.CREATE, ResourceType.TOPIC),
    _created,
    message="Authorization failed.",
    each_once=True,
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
    """DELETE on the topic or the cluster; a topic that may not be described is answered as if it
    did not exist."""
    if asked.access.may(Operation.DELETE, ResourceType.CLUSTER, log=False):
        return handled(asked)
    mirror = mirror_of(asked.api_key, asked.request)
    assert mirror is not None
    kept: list[Any] = []
    denied: list[Any] = []
    asked_topics: list[Any] = getattr(asked.request, mirror.asked)
    counts = yield from counted(map(_named_by, asked_topics))
    # Without time nothing is deleted, nor said whether it is there: the handler refuses everything.
    # Kafka looks for ids before it asks who may do what.
    is_late = asked.request.timeout_ms <= 0
    for some in batches(counts) if is_late else ():
        yield
        if any(name is None and topic_id != NO_UUID for name, topic_id in some):
            return handled(asked)
    for topic in asked_topics:
        yield
        by = _named_by(topic)
        if counts[by] > 1 or (by[0] is not None and by[1] != NO_UUID):
            kept.append(topic)  # the handler knows what is wrong with it
            continue
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
        if is_late or (may_see and (may_delete or asked.topics.id_of(name) is None)):
            kept.append(topic)
            continue
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        refusal = yield from refused_one(asked, topic, code, default_message(code))
        refusal.name = name if may_see or not by_id else None
        denied.append(refusal)

    def finish(response: Any) -> Steps[Any]:
        yield
        return replace(response, responses=[*response.responses, *moved(denied)])

    return Verdict(replace(asked.request, **{mirror.asked: kept}), finish=finish)


def _named_by(topic: Any) -> tuple[str | None, UUID]:
    """Name and id by which a topic is to be deleted."""
    return (topic, NO_UUID) if isinstance(topic, str) else (topic.name, topic.topic_id)


_OF_A_BROKER: Final = (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE)

# AlterConfigOp.OpType
_DELETE: Final = 1


def configs(operation: Operation, place: Place) -> Rule:
    """The operation on the topic or group, for everything else on the cluster."""
    needs = {
        TOPIC_RESOURCE: need(operation, ResourceType.TOPIC),
        GROUP_RESOURCE: need(operation, ResourceType.GROUP),
        BROKER_RESOURCE: need(operation, ResourceType.CLUSTER),
        BROKER_LOGGER_RESOURCE: need(operation, ResourceType.CLUSTER),
        CLIENT_METRICS_RESOURCE: need(operation, ResourceType.CLUSTER),
    }

    def rule(asked: Asked) -> Steps[Verdict]:
        mirror = mirror_of(asked.api_key, asked.request)
        assert mirror is not None
        kept: list[Any] = []
        denied: dict[int, Any] = {}
        is_change = operation is Operation.ALTER_CONFIGS
        counts = yield from counted(map(_what_is_configured, asked.request.resources))
        for index, resource in enumerate(asked.request.resources):
            yield
            wanted = needs.get(resource.resource_type)
            if is_change and asked.forwards and resource.resource_type not in _OF_A_BROKER:
                kept.append(resource)  # the controllers authorize it
                continue
            if is_change and (
                counts[_what_is_configured(resource)] > 1
                or (yield from _is_malformed(resource.configs))
                or _is_of_another_node(asked, resource)
            ):
                kept.append(resource)  # the handler knows what is wrong with it
                continue
            if wanted is None or _may_configure(asked, wanted, resource.resource_name):
                kept.append(resource)
                continue
            message = default_message(wanted.error)
            denied[index] = yield from refused_one(asked, resource, wanted.error, message)
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


def _what_is_configured(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _is_malformed(changes: Sequence[Any]) -> Steps[bool]:
    """True for a config that stands twice, or is to be null."""
    counts = yield from counted(each.name for each in changes)
    is_malformed = len(counts) < len(changes)
    yield from release_dict(counts)
    for some in batches(changes):
        is_malformed = is_malformed or any(map(_is_to_be_null, some))
        yield
    return is_malformed


def _is_to_be_null(change: Any) -> bool:
    return change.value is None and getattr(change, "config_operation", None) != _DELETE


def _is_of_another_node(asked: Asked, resource: Any) -> bool:
    """True for configs of another node, which this one refuses to every client.

    Kafka also checks values before it authorizes. Here that takes the permission: it opens the
    files that they name.
    """
    name = resource.resource_name
    return (
        resource.resource_type == BROKER_RESOURCE
        and bool(name)
        and java_text.whole_number(name, 32) != asked.node_id
    )


def _may_configure(asked: Asked, wanted: Any, name: str) -> bool:
    if wanted.resource_type is ResourceType.CLUSTER:
        return asked.access.may(wanted.operation, ResourceType.CLUSTER)
    return asked.access.may(wanted.operation, wanted.resource_type, name)
