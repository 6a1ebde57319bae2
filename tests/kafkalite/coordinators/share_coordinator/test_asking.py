"""Single partitions asked of the share coordinator: a result, or a code with Kafka's words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.coordinators.share_coordinator.asking import Answer, ask
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.one_share_group import NODE, OneShareGroup, one_share_group


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group() as made:
        yield made


def test_a_result(group: OneShareGroup) -> None:
    assert ask(group.share, NODE, group.key(), "count", lambda: 3) == Answer(3)


def test_a_node_that_does_not_coordinate_does_nothing(group: OneShareGroup) -> None:
    done: list[int] = []
    answer = ask(group.share, NODE + 1, group.key(), "count", lambda: done.append(1))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "Unable to count: This is not the correct coordinator.",
    )
    assert done == []


@pytest.mark.parametrize(
    ("message", "words"),
    [("so it is", "so it is"), (None, "The share coordinator rejected the request")],
)
def test_an_error_with_its_words_or_kafka_s(
    group: OneShareGroup, message: str | None, words: str
) -> None:
    def fail() -> int:
        raise KafkaError(ErrorCode.FENCED_STATE_EPOCH, message)

    answer = ask(group.share, NODE, group.key(), "count", fail)
    assert answer.result is None
    assert answer.error_code == ErrorCode.FENCED_STATE_EPOCH
    assert (answer.error_message or "").startswith(words)
