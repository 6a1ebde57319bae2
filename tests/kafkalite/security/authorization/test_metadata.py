"""Metadata tells only of topics that may be described; no other seems to exist."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.metadata import (
    describe_cluster,
    describe_topic_partitions,
    metadata,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkalite.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.kafkalite.security.authorizers import acl, asked, on_cluster
from tests.kafkalite.security.secured import Users, allow, grant

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_ID = UUID(int=0)
TOPICS = {"a": 1, "b": 1}
CAN_DESCRIBE_A = acl("a", Operation.DESCRIBE)


def one_topic(name: str) -> MetadataRequest:
    topic = MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


async def test_metadata_does_not_say_whether_a_topic_exists(users: Users) -> None:
    alice = await users.user("alice")
    there = await alice.ask(one_topic("secret"))
    missing = await alice.ask(one_topic("missing"))
    for answer, name in ((there, "secret"), (missing, "missing")):
        (topic,) = answer.topics
        assert (topic.error_code, topic.name, topic.partitions) == (DENIED, name, [])
        assert topic.topic_id == NO_ID
    everything = await alice.ask(MetadataRequest(topics=None))
    assert everything.topics == []


async def test_what_may_be_described_is(users: Users) -> None:
    await grant(users, allow(Operation.DESCRIBE, ResourceType.TOPIC, "secret"))
    alice = await users.user("alice")
    request = one_topic("secret")
    request.include_topic_authorized_operations = True
    (topic,) = (await alice.ask(request)).topics
    assert topic.error_code == ErrorCode.NONE
    assert topic.topic_authorized_operations == 1 << Operation.DESCRIBE
    everything = await alice.ask(MetadataRequest(topics=None))
    assert [each.name for each in everything.topics] == ["secret"]


def test_an_id_is_refused_without_its_name() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=UUID(int=2))])
    verdict = at_once(metadata(asked(ApiKey.METADATA, request, version=13, topics=TOPICS)))
    assert verdict.request.topics == []
    assert verdict.finish is not None
    (refusal,) = at_once(verdict.finish(MetadataResponse(topics=[]))).topics
    assert (refusal.error_code, refusal.name, refusal.topic_id) == (DENIED, None, UUID(int=2))


@pytest.mark.parametrize("version", [0, 13])
def test_a_topic_that_is_named_twice_is_refused_once(version: int) -> None:
    topic = MetadataRequestTopic(name="b")
    if version:
        topic = MetadataRequestTopic(topic_id=UUID(int=2), name=None)
    request = MetadataRequest(topics=[topic, topic])
    verdict = at_once(metadata(asked(ApiKey.METADATA, request, version=version, topics=TOPICS)))
    assert verdict.finish is not None
    assert len(at_once(verdict.finish(MetadataResponse(topics=[]))).topics) == 1


def test_an_unknown_id_is_for_the_handler() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=UUID(int=9))])
    verdict = at_once(metadata(asked(ApiKey.METADATA, request, version=13, topics=TOPICS)))
    assert verdict.request is request


def test_in_version_0_a_request_of_nothing_is_left_nothing() -> None:
    """All topics come back for an empty list: those are not what was asked for."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name="b")])
    verdict = at_once(
        metadata(asked(ApiKey.METADATA, request, CAN_DESCRIBE_A, version=0, topics=TOPICS))
    )
    assert verdict.finish is not None
    response = MetadataResponse(topics=[MetadataResponseTopic(name="a")])
    assert [(each.name, each.error_code) for each in at_once(verdict.finish(response)).topics] == [
        ("b", DENIED)
    ]


def test_in_version_0_an_empty_list_means_all() -> None:
    request = MetadataRequest(topics=[])
    verdict = at_once(
        metadata(asked(ApiKey.METADATA, request, CAN_DESCRIBE_A, version=0, topics=TOPICS))
    )
    assert verdict.finish is not None
    response = MetadataResponse(topics=[MetadataResponseTopic(name=name) for name in TOPICS])
    assert [each.name for each in at_once(verdict.finish(response)).topics] == ["a"]


@pytest.mark.parametrize(
    ("acls", "creates_topics", "allowed_by_request", "is_refused"),
    [
        ([], True, True, True),
        ([on_cluster(Operation.CREATE)], True, True, False),
        ([acl("new", Operation.CREATE)], True, True, False),
        ([], False, True, False),
        ([], True, False, False),
    ],
)
def test_a_topic_that_asking_creates_needs_create(
    acls: list[Acl], creates_topics: bool, allowed_by_request: bool, is_refused: bool
) -> None:
    request = one_topic("new")
    request.allow_auto_topic_creation = allowed_by_request
    verdict = at_once(
        metadata(
            asked(
                ApiKey.METADATA,
                request,
                acl("new", Operation.DESCRIBE),
                *acls,
                version=12,
                topics=TOPICS,
                creates_topics=creates_topics,
            )
        )
    )
    assert (verdict.request.topics == []) is is_refused


@pytest.mark.parametrize(("name", "is_internal"), [("new", False), ("__consumer_offsets", True)])
def test_a_topic_that_may_not_be_created_is_told_to_be_internal(
    name: str, is_internal: bool
) -> None:
    """It is no secret, as one that may not be described would be."""
    for acls, is_told in (([acl(name, Operation.DESCRIBE)], is_internal), ([], False)):
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        request = asked(ApiKey.METADATA, wanted, *acls, version=12, creates_topics=True)
        finish = at_once(metadata(request)).finish
        assert finish is not None
        (topic,) = at_once(finish(MetadataResponse())).topics
        assert (topic.error_code, topic.is_internal) == (DENIED, is_told)


@pytest.mark.parametrize(
    ("acls", "operations"),
    [
        ([], 0),
        ([on_cluster(Operation.CREATE)], 0),
        ([on_cluster(Operation.DESCRIBE)], 1 << Operation.DESCRIBE),
        (
            [on_cluster(Operation.DESCRIBE), on_cluster(Operation.CREATE)],
            1 << Operation.DESCRIBE | 1 << Operation.CREATE,
        ),
    ],
)
def test_operations_on_the_cluster_are_told_to_those_who_may_describe_it(
    acls: list[Acl], operations: int
) -> None:
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    verdict = at_once(describe_cluster(asked(ApiKey.DESCRIBE_CLUSTER, cluster, *acls, version=2)))
    assert verdict.finish is not None
    assert (
        at_once(verdict.finish(DescribeClusterResponse())).cluster_authorized_operations
        == operations
    )
    request = MetadataRequest(topics=None, include_cluster_authorized_operations=True)
    verdict = at_once(metadata(asked(ApiKey.METADATA, request, *acls, version=10)))
    assert verdict.finish is not None
    response = at_once(verdict.finish(MetadataResponse(topics=[])))
    assert response.cluster_authorized_operations == operations


async def test_cluster_operations_are_told(users: Users) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    root, alice = await users.user("root"), await users.user("alice")
    assert (await alice.ask(request)).cluster_authorized_operations == 0
    everything = (await root.ask(request)).cluster_authorized_operations
    assert everything == sum(1 << number for number in (5, 7, 8, 9, 10, 11, 12))


def partitions_of(*names: str, cursor: Cursor | None = None) -> DescribeTopicPartitionsRequest:
    topics = [TopicRequest(name=name) for name in names]
    return DescribeTopicPartitionsRequest(topics=topics, cursor=cursor)


def described(request: DescribeTopicPartitionsRequest, *acls: Acl) -> Any:
    return at_once(
        describe_topic_partitions(
            asked(ApiKey.DESCRIBE_TOPIC_PARTITIONS, request, *acls, version=0, topics=TOPICS)
        )
    )


def response_of(*names: str) -> DescribeTopicPartitionsResponse:
    topics = [DescribeTopicPartitionsResponseTopic(name=name) for name in names]
    return DescribeTopicPartitionsResponse(topics=topics)


def test_partitions_of_all_topics_are_of_those_that_may_be_described() -> None:
    """They are asked for by name: others fill no page, and no cursor tells of them."""
    verdict = described(partitions_of(), CAN_DESCRIBE_A)
    assert [each.name for each in verdict.request.topics] == ["a"]
    found = response_of("a", "gone")
    found.topics[1].error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (topic,) = at_once(verdict.finish(found)).topics
    assert (topic.name, topic.topic_authorized_operations) == ("a", 1 << Operation.DESCRIBE)


def test_of_nothing_that_may_be_described_nothing_is_told() -> None:
    verdict = described(partitions_of())
    assert verdict.is_final
    assert verdict.response == DescribeTopicPartitionsResponse()


@pytest.mark.parametrize(
    ("first", "names", "is_kept"), [("a", ["a"], True), ("", ["a"], False), ("b", [], False)]
)
def test_partitions_of_all_topics_from_a_cursor_on(
    first: str, names: list[str], is_kept: bool
) -> None:
    cursor = Cursor(topic_name=first, partition_index=1)
    verdict = described(partitions_of(cursor=cursor), CAN_DESCRIBE_A)
    assert verdict.is_final == (not names)
    if names:
        assert [each.name for each in verdict.request.topics] == names
        assert (verdict.request.cursor is cursor) == is_kept


@pytest.mark.parametrize(("name", "index"), [("x", 0), ("b", -1)])
def test_a_cursor_that_is_none_is_for_the_handler(name: str, index: int) -> None:
    cursor = Cursor(topic_name=name, partition_index=index)
    request = partitions_of("b", cursor=cursor)
    assert described(request).request is request


def test_an_empty_name_that_may_be_described_is_for_the_handler() -> None:
    """It fails with all of the request then."""
    request = partitions_of("b", "")
    assert described(request, acl("*", Operation.DESCRIBE)).request is request
    assert described(request, acl("*", Operation.DESCRIBE)).finish is None
    verdict = described(request, acl("b", Operation.DESCRIBE))
    assert [each.name for each in verdict.request.topics] == ["b"]


def test_partitions_of_named_topics_are_refused_behind_the_others() -> None:
    verdict = described(partitions_of("b", "a"), CAN_DESCRIBE_A)
    assert [each.name for each in verdict.request.topics] == ["a"]
    topics = at_once(verdict.finish(response_of("a"))).topics
    assert [(each.name, each.error_code) for each in topics] == [("a", 0), ("b", DENIED)]


def test_with_nothing_left_to_ask_all_are_refused() -> None:
    verdict = described(partitions_of("b"), CAN_DESCRIBE_A)
    assert verdict.is_final
    assert [(each.name, each.error_code) for each in verdict.response.topics] == [("b", DENIED)]


def test_topics_before_the_cursor_are_not_refused_once_more() -> None:
    request = partitions_of("a", "b", "c", cursor=Cursor(topic_name="b", partition_index=0))
    verdict = described(request, acl("b", Operation.DESCRIBE))
    assert [each.name for each in verdict.request.topics] == ["b"]
    assert [each.name for each in at_once(verdict.finish(response_of("b"))).topics] == ["b", "c"]


def test_a_cursor_at_a_topic_that_is_refused_is_at_the_next() -> None:
    request = partitions_of("a", "b", "c", cursor=Cursor(topic_name="b", partition_index=1))
    verdict = described(request, acl("c", Operation.DESCRIBE))
    assert [each.name for each in verdict.request.topics] == ["c"]
    assert verdict.request.cursor is None
    assert [each.name for each in at_once(verdict.finish(response_of("c"))).topics] == ["c", "b"]
    assert described(request, acl("b", Operation.DESCRIBE)).request.cursor is request.cursor
