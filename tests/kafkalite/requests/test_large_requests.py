"""Requests whose message is made beside the row, and let go with it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.requests import large_requests
from kafkalite.requests.large_requests import with_message
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kafkalite.wire.rows import rows_of
from tests.freed_in_steps import FreedInSlices, without_collections

MESSAGE = ConsumerGroupHeartbeatRequest(
    group_id="g",
    subscribed_topic_names=["t"],
    topic_partitions=[TopicPartitions(partitions=[1, 2])],
)


def context() -> Any:
    async def move_to_task() -> None: ...

    return SimpleNamespace(connection=SimpleNamespace(move_to_task=move_to_task))


def at_once(message: ConsumerGroupHeartbeatRequest) -> Any:
    return f"{message.group_id} is there"


async def later(message: ConsumerGroupHeartbeatRequest) -> Any:
    return at_once(message)


@pytest.mark.parametrize("answer", [at_once, later])
async def test_the_answer_is_made_from_the_message(
    answer: Callable[[ConsumerGroupHeartbeatRequest], Any],
) -> None:
    seen: list[bool] = []

    def noting(message: ConsumerGroupHeartbeatRequest) -> Any:
        seen.append(message == MESSAGE)
        return answer(message)

    row = rows_of(MESSAGE)
    told = await with_message(ConsumerGroupHeartbeatRequest, row, context(), noting)
    assert (told, seen) == ("g is there", [True])


def test_the_message_is_let_go_little_by_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest number of objects that goes at once is far below the message's."""
    freed = FreedInSlices()
    monkeypatch.setattr(large_requests, "in_slices", freed)
    topics = [TopicPartitions(partitions=[number]) for number in range(20_000)]
    row = rows_of(ConsumerGroupHeartbeatRequest(group_id="g", topic_partitions=topics))
    with without_collections():
        answering = with_message(ConsumerGroupHeartbeatRequest, row, context(), at_once)
        with pytest.raises(StopIteration):
            answering.send(None)
        del answering
        freed.over()
    assert sum(max(each, 0) for each in freed.counts) > 20_000
    assert max(freed.counts) < 5_000
