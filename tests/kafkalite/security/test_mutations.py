"""Tokens for partitions: what costs how many, and who is refused and who only waits (KIP-599)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import at_once
from kafkalite.security.mutations import MUTATIONS, MutationQuota
from kafkalite.security.quotas import CONTROLLER_MUTATION_RATE, ClientQuota
from kafkalite.security.rates import Window
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import create_partitions, create_topics, delete_topics

CONFIG = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "num.partitions": "5"})
NOW = 10**9
# With one token per second the bucket holds ten.
WINDOW = Window(10, 1000)
SPENT = ErrorCode.THROTTLING_QUOTA_EXCEEDED


@dataclass
class Topic:
    """A topic of the metadata."""

    topic_id: UUID
    partitions: list[int]


@dataclass
class Topics:
    """The topics of the metadata."""

    topics: dict[str, Topic]

    @property
    def topics_by_id(self) -> dict[UUID, Topic]:
        return {topic.topic_id: topic for topic in self.topics.values()}


TOPICS = Topics({"a": Topic(UUID(int=1), [0, 1, 2]), "b": Topic(UUID(int=2), [0])})


def bucket(tokens_per_second: float = 1.0) -> ClientQuota:
    quota = ClientQuota(CONTROLLER_MUTATION_RATE, WINDOW)
    quota.replace({(("user", "alice"),): {CONTROLLER_MUTATION_RATE: tokens_per_second}})
    return quota


def quota_of(quota: ClientQuota, *, is_strict: bool = True) -> MutationQuota:
    return MutationQuota(quota, "alice", "app", lambda: NOW, is_strict=is_strict)


def admitted(
    api_key: ApiKey, request: Any, quota: MutationQuota | None = None
) -> tuple[Any, list[Any]]:
    quota = quota or quota_of(bucket())
    return at_once(MUTATIONS[api_key].admitting(TOPICS, CONFIG, request, quota))


def new(name: str, count: int = 1, assignments: int = 0) -> create_topics.CreatableTopic:
    return create_topics.CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=1,
        assignments=[
            create_topics.CreatableReplicaAssignment(partition_index=index, broker_ids=[1])
            for index in range(assignments)
        ],
    )


def cost(api_key: ApiKey, request: Any) -> float:
    """The tokens that a request takes, by the time until the bucket is no longer overdrawn."""
    quota = bucket()
    admitted(api_key, request, quota_of(quota, is_strict=False))
    # Ten in the bucket: what goes beyond is waited for, a second each.
    quota.take_tokens("alice", "app", 10, NOW)
    return quota.tokens_short_ms("alice", "app", NOW) / 1000


@pytest.mark.parametrize(
    ("topic", "tokens"),
    [
        (new("c", 3), 3),
        (new("c", -1), 5),
        (new("c", -1, assignments=2), 2),
        (new("a", 3), 0),
        (new("c", 0), 0),
        (new("c", -7), 0),
    ],
    ids=["its partitions", "by default", "assigned", "exists", "none", "invalid"],
)
def test_creating_costs_a_token_per_partition(
    topic: create_topics.CreatableTopic, tokens: int
) -> None:
    assert cost(ApiKey.CREATE_TOPICS, create_topics.CreateTopicsRequest(topics=[topic])) == tokens


@pytest.mark.parametrize(
    ("request_", "tokens"),
    [
        (delete_topics.DeleteTopicsRequest(topic_names=["a", "b", "missing"]), 4),
        (delete_topics.DeleteTopicsRequest(topics=[delete_topics.DeleteTopicState(name="a")]), 3),
        (
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=None, topic_id=UUID(int=1))]
            ),
            3,
        ),
        (
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=None, topic_id=UUID(int=9))]
            ),
            0,
        ),
    ],
    ids=["names", "a name", "an id", "an unknown id"],
)
def test_deleting_costs_a_token_per_partition(request_: Any, tokens: int) -> None:
    assert cost(ApiKey.DELETE_TOPICS, request_) == tokens


@pytest.mark.parametrize(
    ("name", "count", "tokens"), [("a", 5, 2), ("a", 3, 0), ("a", 1, 0), ("missing", 9, 0)]
)
def test_adding_costs_a_token_per_new_partition(name: str, count: int, tokens: int) -> None:
    topic = create_partitions.CreatePartitionsTopic(name=name, count=count)
    request = create_partitions.CreatePartitionsRequest(topics=[topic])
    assert cost(ApiKey.CREATE_PARTITIONS, request) == tokens


def test_a_strict_request_is_refused_from_where_the_tokens_are_spent() -> None:
    """The last that is done may overdraw; what fails anyway is left to fail."""
    quota = quota_of(bucket())
    request = create_topics.CreateTopicsRequest(
        topics=[new("c", 8), new("d", 8), new("e", 1), new("a", 1), new("f", 1)]
    )
    rest, refused = admitted(ApiKey.CREATE_TOPICS, request, quota)
    assert [topic.name for topic in rest.topics] == ["c", "d", "a"]
    assert [(each.name, each.error_code, each.error_message) for each in refused] == [
        ("e", SPENT, None),
        ("f", SPENT, None),
    ]
    assert quota.wait_ms == 6000


def test_a_permissive_request_overdraws_and_waits() -> None:
    quota = quota_of(bucket(), is_strict=False)
    request = create_topics.CreateTopicsRequest(topics=[new("c", 8), new("d", 8), new("e", 1)])
    assert admitted(ApiKey.CREATE_TOPICS, request, quota) == (request, [])
    assert quota.wait_ms == 7000


def test_within_the_quota_nothing_changes() -> None:
    quota = quota_of(bucket())
    request = create_topics.CreateTopicsRequest(topics=[new("c", 8)])
    rest, refused = admitted(ApiKey.CREATE_TOPICS, request, quota)
    assert rest is request
    assert (refused, quota.wait_ms) == ([], 0)


@pytest.mark.parametrize(
    ("api_key", "first_strict", "response", "element", "answered"),
    [
        (
            ApiKey.CREATE_TOPICS,
            6,
            create_topics.CreateTopicsResponse(),
            create_topics.CreatableTopicResult(name="x"),
            "topics",
        ),
        (
            ApiKey.DELETE_TOPICS,
            5,
            delete_topics.DeleteTopicsResponse(),
            delete_topics.DeletableTopicResult(name="x"),
            "responses",
        ),
        (
            ApiKey.CREATE_PARTITIONS,
            3,
            create_partitions.CreatePartitionsResponse(),
            create_partitions.CreatePartitionsTopicResult(name="x"),
            "results",
        ),
    ],
    ids=lambda each: each.name if isinstance(each, ApiKey) else "",
)
def test_versions_that_know_the_error_are_strict(
    api_key: ApiKey, first_strict: int, response: Any, element: Any, answered: str
) -> None:
    mutation = MUTATIONS[api_key]
    assert mutation.strict_since == first_strict
    assert getattr(mutation.merge(response, [element]), answered) == [element]
    assert mutation.merge(response, []) is response
