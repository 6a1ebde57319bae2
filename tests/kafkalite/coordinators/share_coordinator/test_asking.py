"""Partitions asked of the share coordinator: results by topic, or codes with Kafka's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from kafkalite.coordinators.share_coordinator.asking import ask_each
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.one_share_group import GROUP, NODE, OneShareGroup, one_share_group


@dataclass
class Asked:
    """One partition of a request."""

    partition: int


@dataclass
class AskedTopic:
    """One topic of a request."""

    topic_id: UUID
    partitions: list[Asked]


class Answer(NamedTuple):
    """One partition of a response."""

    partition: int
    count: int = 0
    error_code: int = ErrorCode.NONE
    error_message: str | None = None


class AnsweredTopic(NamedTuple):
    """One topic of a response."""

    topic_id: UUID
    partitions: list[Answer]


@dataclass
class AskedGroup:
    """A request."""

    group_id: str
    topics: list[AskedTopic]


def asker(node_id: int) -> Any:
    """The context of a request to a node."""
    return SimpleNamespace(node_id=node_id, api_key=ApiKey.READ_SHARE_GROUP_STATE)


Work = Callable[[SharePartitionKey, Asked], dict[str, int]]


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group() as made:
        yield made


def answers(
    group: OneShareGroup,
    work: Work,
    *,
    node_id: int = NODE,
    group_id: str = GROUP,
    partitions: Sequence[int] = (0, 1),
) -> list[AnsweredTopic]:
    topics = [AskedTopic(group.topic_id, [Asked(index) for index in partitions])]
    asked = AskedGroup(group_id, topics)
    return at_once(ask_each(group.share, asker(node_id), asked, work, AnsweredTopic, Answer))


def test_a_result_for_each_partition(group: OneShareGroup) -> None:
    def work(key: SharePartitionKey, asked: Asked) -> dict[str, int]:
        assert key == group.key(asked.partition)
        return {"count": asked.partition + 10}

    assert answers(group, work) == [(group.topic_id, [Answer(0, 10), Answer(1, 11)])]


@pytest.mark.parametrize(
    "settings", [{"group_id": ""}, {"partitions": ()}], ids=["no group", "no partitions"]
)
def test_a_request_that_names_nothing_has_no_answers(
    group: OneShareGroup, settings: dict[str, object]
) -> None:
    assert answers(group, lambda key, asked: {"count": 1}, **settings) == []


def test_a_node_that_does_not_coordinate_does_nothing(group: OneShareGroup) -> None:
    done: list[int] = []

    def work(key: SharePartitionKey, asked: Asked) -> dict[str, int]:
        done.append(asked.partition)
        return {"count": 1}

    ((_, found),) = answers(group, work, node_id=NODE + 1)
    assert [(each.partition, each.error_code, each.error_message) for each in found] == [
        (
            index,
            ErrorCode.NOT_COORDINATOR,
            "Unable to read share group state: This is not the correct coordinator.",
        )
        for index in (0, 1)
    ]
    assert done == []


@pytest.mark.parametrize(
    ("message", "words"),
    [("so it is", "so it is"), (None, "The share coordinator rejected the request")],
)
def test_an_error_of_one_partition_with_its_words_or_kafka_s(
    group: OneShareGroup, message: str | None, words: str
) -> None:
    def work(key: SharePartitionKey, asked: Asked) -> dict[str, int]:
        if asked.partition:
            return {"count": 5}
        raise KafkaError(ErrorCode.FENCED_STATE_EPOCH, message)

    ((_, (failed, done)),) = answers(group, work)
    assert (failed.count, failed.error_code) == (0, ErrorCode.FENCED_STATE_EPOCH)
    assert (failed.error_message or "").startswith(words)
    assert done == Answer(1, 5)


def test_a_partition_named_twice_is_asked_twice_and_has_the_last_result(
    group: OneShareGroup,
) -> None:
    asked: list[int] = []

    def work(key: SharePartitionKey, one: Asked) -> dict[str, int]:
        asked.append(one.partition)
        return {"count": len(asked)}

    (topic,) = answers(group, work, partitions=(0, 1, 0))
    assert asked == [0, 1, 0]
    assert topic.partitions == [Answer(0, 3), Answer(1, 2)]


def test_very_many_topics_are_answered_one_a_step(group: OneShareGroup) -> None:
    made: list[UUID] = []

    def make_topic(topic_id: UUID, partitions: list[Answer]) -> AnsweredTopic:
        made.append(topic_id)
        return AnsweredTopic(topic_id, partitions)

    topics = [AskedTopic(UUID(int=number), [Asked(0)]) for number in range(1000)]
    asked = AskedGroup(GROUP, topics)
    asking = ask_each(group.share, asker(NODE), asked, lambda key, one: {}, make_topic, Answer)
    counts = [len(made) for _ in asking]
    assert [later - earlier for earlier, later in pairwise(counts)].count(1) >= 999
    assert counts[-1] == len(made) == 1000
