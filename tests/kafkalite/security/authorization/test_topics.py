"""Rights to create, delete and configure topics, and to learn that one exists."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.requests.mirrors import mirror_of
from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.rules import Place
from kafkalite.security.authorization.table import AUTHORIZATION
from kafkalite.security.authorization.topics import configs, create_topics, delete_topics
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import alter_configs
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kafkalite.security.authorizers import acl, asked, on_cluster, on_group
from tests.kafkalite.security.secured import Users, allow, grant

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_creating_topics(users: Users) -> None:
    alice = await users.user("alice")
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in ("mine", "yours")
        ],
        timeout_ms=1000,
    )
    await grant(users, allow(Operation.CREATE, ResourceType.TOPIC, "mine"))
    mine, yours = (await alice.ask(request)).topics
    assert (mine.name, mine.error_code) == ("mine", ErrorCode.NONE)
    # Its configs are another matter.
    assert (mine.topic_config_error_code, mine.num_partitions) == (DENIED, -1)
    assert (yours.name, yours.error_code) == ("yours", DENIED)
    assert yours.error_message == "Authorization failed."


def test_the_cluster_s_create_creates_any_topic() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a")])
    creates = on_cluster(Operation.CREATE)
    verdict = at_once(create_topics(asked(ApiKey.CREATE_TOPICS, request, creates, version=7)))
    assert verdict.request is request


@pytest.mark.parametrize(
    ("acls", "error_code", "seen"),
    [
        ([], 0, (DENIED, -1, -1)),
        ([acl("a", Operation.DESCRIBE_CONFIGS)], 0, (0, 3, 2)),
        # A failure has no configs that could be hidden.
        ([], ErrorCode.TOPIC_ALREADY_EXISTS, (0, 3, 2)),
    ],
)
def test_configs_of_a_new_topic_are_told_to_those_who_may_describe_them(
    acls: list[Acl], error_code: int, seen: tuple[int, int, int]
) -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a")])
    verdict = at_once(
        create_topics(
            asked(ApiKey.CREATE_TOPICS, request, acl("a", Operation.CREATE), *acls, version=7)
        )
    )
    result = CreatableTopicResult(
        name="a", error_code=error_code, num_partitions=3, replication_factor=2
    )
    assert verdict.finish is not None
    (topic,) = at_once(verdict.finish(CreateTopicsResponse(topics=[result]))).topics
    assert (topic.topic_config_error_code, topic.num_partitions, topic.replication_factor) == seen


async def test_deleting_topics_does_not_say_which_exist(users: Users) -> None:
    alice = await users.user("alice")
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name) for name in ("secret", "missing")], timeout_ms=1000
    )
    answer = await alice.ask(request)
    assert {each.name: each.error_code for each in answer.responses} == {
        "secret": DENIED,
        "missing": DENIED,
    }
    await grant(users, allow(Operation.DELETE, ResourceType.TOPIC, "*"))
    answer = await alice.ask(request)
    assert {each.name: each.error_code for each in answer.responses} == {
        "secret": ErrorCode.NONE,
        "missing": UNKNOWN,
    }


def deleted(request: DeleteTopicsRequest, *acls: Acl, version: int = 6) -> list[tuple[Any, ...]]:
    """Returns the names that are left for the handler, and the answers."""
    verdict = at_once(
        delete_topics(asked(ApiKey.DELETE_TOPICS, request, *acls, version=version, topics={"a": 1}))
    )
    kept = verdict.request.topics if version >= 6 else verdict.request.topic_names
    response = DeleteTopicsResponse(responses=[])
    if verdict.finish is not None:
        response = at_once(verdict.finish(response))
    refused = [(each.name, each.topic_id.int, each.error_code) for each in response.responses]
    return [*(("left", each) for each in kept), *refused]


def test_a_topic_that_may_be_described_is_refused_by_its_name() -> None:
    by_id = DeleteTopicState(name=None, topic_id=UUID(int=1))
    request = DeleteTopicsRequest(topics=[by_id], timeout_ms=1000)
    assert deleted(request) == [(None, 1, DENIED)]
    assert deleted(request, acl("a", Operation.DESCRIBE)) == [("a", 1, DENIED)]
    assert deleted(request, acl("a", Operation.DELETE)) == [("left", by_id)]


def test_what_exists_nowhere_is_for_the_handler() -> None:
    by_id = DeleteTopicState(name=None, topic_id=UUID(int=9))
    assert deleted(DeleteTopicsRequest(topics=[by_id], timeout_ms=1000)) == [("left", by_id)]
    by_name = DeleteTopicState(name="missing")
    request = DeleteTopicsRequest(topics=[by_name], timeout_ms=1000)
    assert deleted(request, acl("missing", Operation.DESCRIBE)) == [("left", by_name)]


def test_old_versions_name_topics_only() -> None:
    request = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=1000)
    assert deleted(request, acl("b", Operation.DESCRIBE), version=5) == [
        ("left", "b"),
        ("a", 0, DENIED),
    ]


def test_the_cluster_s_delete_deletes_any_topic() -> None:
    request = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=1000)
    assert deleted(request, on_cluster(Operation.DELETE), version=5) == [
        ("left", "a"),
        ("left", "b"),
    ]


TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DESCRIBE_CONFIGS = Operation.DESCRIBE_CONFIGS


@pytest.mark.parametrize(
    ("kind", "entry", "error"),
    [
        (TOPIC, acl("x", DESCRIBE_CONFIGS), DENIED),
        (GROUP, on_group("x", DESCRIBE_CONFIGS), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (BROKER, on_cluster(DESCRIBE_CONFIGS), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (LOGGER, on_cluster(DESCRIBE_CONFIGS), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (METRICS, on_cluster(DESCRIBE_CONFIGS), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_configs_belong_to_their_resource_or_the_cluster(
    kind: int, entry: Acl, error: ErrorCode
) -> None:
    resource = DescribeConfigsResource(resource_type=kind, resource_name="x")
    request = DescribeConfigsRequest(resources=[resource])
    rule = configs(DESCRIBE_CONFIGS, Place.LAST)
    assert (
        at_once(rule(asked(ApiKey.DESCRIBE_CONFIGS, request, entry, version=4))).request is request
    )
    verdict = at_once(rule(asked(ApiKey.DESCRIBE_CONFIGS, request, version=4)))
    assert verdict.request.resources == []
    assert verdict.finish is not None
    (refusal,) = at_once(verdict.finish(DescribeConfigsResponse(results=[]))).results
    assert (refusal.resource_type, refusal.resource_name, refusal.error_code) == (kind, "x", error)


def test_a_type_of_configs_that_is_not_known_is_for_the_handler() -> None:
    resource = DescribeConfigsResource(resource_type=99, resource_name="x")
    request = DescribeConfigsRequest(resources=[resource])
    rule = configs(DESCRIBE_CONFIGS, Place.LAST)
    assert at_once(rule(asked(ApiKey.DESCRIBE_CONFIGS, request, version=4))).request is request


@pytest.mark.parametrize(
    ("place", "order"), [(Place.LAST, ["b", "c", "a"]), (Place.AS_ASKED, ["a", "b", "c"])]
)
def test_the_place_of_a_refusal(place: Place, order: list[str]) -> None:
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=name) for name in ("a", "b", "c")
    ]
    request = DescribeConfigsRequest(resources=resources)
    entries = [acl(name, DESCRIBE_CONFIGS) for name in ("b", "c")]
    verdict = at_once(
        configs(DESCRIBE_CONFIGS, place)(
            asked(ApiKey.DESCRIBE_CONFIGS, request, *entries, version=4)
        )
    )
    results = [DescribeConfigsResult(resource_name=name) for name in ("b", "c")]
    assert verdict.finish is not None
    answers = at_once(verdict.finish(DescribeConfigsResponse(results=results))).results
    assert [each.resource_name for each in answers] == order


def test_what_is_deleted_too_late_or_wrongly_is_left_to_the_handler() -> None:
    """It answers for all of it, and deletes nothing."""
    late = DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=0)
    assert deleted(late, version=5) == [("left", "a"), ("left", "b")]
    twice = DeleteTopicsRequest(topic_names=["a", "b", "a"], timeout_ms=1000)
    assert deleted(twice, version=5) == [("left", "a"), ("left", "a"), ("b", 0, DENIED)]


def left(api_key: ApiKey, request: Any, version: int) -> list[Any]:
    """The elements that are left to the handler where nothing is allowed."""
    verdict = at_once(AUTHORIZATION[api_key](asked(api_key, request, version=version)))
    mirror = mirror_of(api_key, request)
    assert mirror is not None
    elements: list[Any] = getattr(verdict.request, mirror.asked)
    return elements


def test_a_resource_that_stands_twice_is_for_the_handler() -> None:
    """It is refused for that to anybody, as in Kafka, which looks at it before."""
    resources = [AlterConfigsResource(TOPIC, name, []) for name in ("a", "b", "a")]
    request = IncrementalAlterConfigsRequest(resources=resources)
    assert left(ApiKey.INCREMENTAL_ALTER_CONFIGS, request, 1) == [resources[0], resources[2]]


@pytest.mark.parametrize(
    ("changes", "is_left"),
    [
        ([AlterableConfig("x", 0, "1")], False),
        ([AlterableConfig("x", 1, None)], False),
        ([AlterableConfig("x", 0, None)], True),
        ([AlterableConfig("x", 0, "1"), AlterableConfig("x", 0, "2")], True),
    ],
)
def test_changes_that_are_none_are_for_the_handler(
    changes: list[AlterableConfig], is_left: bool
) -> None:
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(TOPIC, "a", changes)])
    assert bool(left(ApiKey.INCREMENTAL_ALTER_CONFIGS, request, 1)) == is_left


@pytest.mark.parametrize(
    ("name", "is_left"),
    [("", False), ("1", False), ("+1", False), ("2", True), ("x", True), (" 1", True)],
)
@pytest.mark.parametrize("api_key", [ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CONFIGS])
def test_the_configs_of_another_node_are_for_the_handler(
    api_key: ApiKey, name: str, is_left: bool
) -> None:
    """This one refuses them to anybody, as in Kafka, before it asks who may."""
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(BROKER, name, [AlterableConfig("x", 0, "1")])]
    )
    if api_key is ApiKey.ALTER_CONFIGS:
        old = alter_configs.AlterConfigsResource(
            BROKER, name, [alter_configs.AlterableConfig("x", "1")]
        )
        assert bool(left(api_key, alter_configs.AlterConfigsRequest(resources=[old]), 1)) == is_left
    else:
        assert bool(left(api_key, request, 1)) == is_left
