"""DeleteTopics: by name or by id; the name is free at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

NO_ID = UUID(int=0)


@pytest.mark.parametrize("version", range(1, 6))
async def test_by_name(broker: test_broker, client: Any, version: int) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    request = DeleteTopicsRequest(topic_names=["a", "nosuch"], timeout_ms=1000)
    answer = await client.ask(request, version)
    codes = {result.name: result.error_code for result in answer.responses}
    assert codes == {"a": ErrorCode.NONE, "nosuch": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert [topic.name for topic in broker._running.services.topics.all()] == ["b"]


async def test_by_name_or_by_id_and_not_by_both(broker: test_broker, client: Any) -> None:
    for name in ("a", "b", "c", "d", "e"):
        broker.create_topic(name)
    ids = {name: broker.topic_id(name) for name in "abcde"}
    unknown = UUID(int=5)
    states = [
        DeleteTopicState(name="a"),
        DeleteTopicState(name=None, topic_id=ids["b"]),
        DeleteTopicState(name="c", topic_id=ids["c"]),
        DeleteTopicState(name=None),
        DeleteTopicState(name=None, topic_id=unknown),
        DeleteTopicState(name="d"),
        DeleteTopicState(name="d"),
        DeleteTopicState(name="e"),
        DeleteTopicState(name=None, topic_id=ids["e"]),
    ]
    answer = await client.ask(DeleteTopicsRequest(topics=states, timeout_ms=1000), 6)
    told = {
        (result.name, result.topic_id): (result.error_code, result.error_message)
        for result in answer.responses
    }
    assert told == {
        ("a", ids["a"]): (0, None),
        ("b", ids["b"]): (0, None),
        ("c", ids["c"]): (42, "You may not specify both topic name and topic id."),
        (None, NO_ID): (42, "Neither topic name nor id were specified."),
        (None, unknown): (100, "This server does not host this topic ID."),
        ("d", NO_ID): (42, "Duplicate topic name."),
        ("e", ids["e"]): (42, "The provided topic name maps to an ID that was already supplied."),
    }
    assert [topic.name for topic in broker._running.services.topics.all()] == ["c", "d", "e"]


@pytest.mark.parametrize(("version", "code"), [(1, 42), (2, 42), (3, 73), (6, 73)])
async def test_deletion_may_be_off(
    broker: test_broker, client: Any, version: int, code: int
) -> None:
    broker.create_topic("a")
    broker._running.config.set_dynamic(None, {"delete.topic.enable": "false"})
    request = (
        DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=1000)
        if version == 6
        else DeleteTopicsRequest(topic_names=["a"], timeout_ms=1000)
    )
    answer = await client.ask(request, version)
    assert [result.error_code for result in answer.responses] == [code]
    assert broker.topic_id("a")


async def test_the_name_is_free_at_once_and_the_new_topic_is_another(
    broker: test_broker, tmp_path: Path
) -> None:
    broker.create_topic("t", 2)
    first = broker.topic_id("t")
    partition = broker._running.services.topics.by_name["t"].partitions[0]
    broker.delete_topic("t")
    assert partition.is_deleted
    broker.create_topic("t")
    second = broker.topic_id("t")
    assert first != second
    assert broker._running.services.topics.by_id(first) is None
    with pytest.raises(Problem, match="there is no topic 'nosuch'"):
        broker.delete_topic("nosuch")
