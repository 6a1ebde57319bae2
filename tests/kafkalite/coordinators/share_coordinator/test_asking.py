"""Partitions asked of the share coordinator: results by topic, or codes with Kafka's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest

from kafkalite.coordinators.share_coordinator.asking import Answer, ask_each
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.slices import at_once
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


Work = Callable[[SharePartitionKey, Asked], int]


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
) -> list[tuple[UUID, list[Answer[int]]]]:
    topics = [AskedTopic(group.topic_id, [Asked(index) for index in partitions])]
    return at_once(ask_each(group.share, node_id, group_id, topics, "count", work))


def test_a_result_for_each_partition(group: OneShareGroup) -> None:
    def work(key: SharePartitionKey, asked: Asked) -> int:
        assert key == group.key(asked.partition)
        return asked.partition + 10

    assert answers(group, work) == [(group.topic_id, [Answer(0, 10), Answer(1, 11)])]


@pytest.mark.parametrize(
    "settings", [{"group_id": ""}, {"partitions": ()}], ids=["no group", "no partitions"]
)
def test_a_request_that_names_nothing_has_no_answers(
    group: OneShareGroup, settings: dict[str, object]
) -> None:
    assert answers(group, lambda key, asked: 1, **settings) == []


def test_a_node_that_does_not_coordinate_does_nothing(group: OneShareGroup) -> None:
    done: list[int] = []

    def work(key: SharePartitionKey, asked: Asked) -> int:
        done.append(asked.partition)
        return 1

    ((_, found),) = answers(group, work, node_id=NODE + 1)
    assert [(each.partition, each.error_code, each.error_message) for each in found] == [
        (
            index,
            ErrorCode.NOT_COORDINATOR,
            "Unable to count: This is not the correct coordinator.",
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
    def work(key: SharePartitionKey, asked: Asked) -> int:
        if asked.partition:
            return 5
        raise KafkaError(ErrorCode.FENCED_STATE_EPOCH, message)

    ((_, (failed, done)),) = answers(group, work)
    assert (failed.result, failed.error_code) == (None, ErrorCode.FENCED_STATE_EPOCH)
    assert (failed.error_message or "").startswith(words)
    assert done == Answer(1, 5)
