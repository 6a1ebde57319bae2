"""DeleteTopics and CreatePartitions: topics go and grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
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
        DeleteTopicsRequest(topics=[DeleteTopicState(name="a")])
        if version == 6
        else DeleteTopicsRequest(topic_names=["a"])
    )
    answer = await client.ask(request, version)
    assert [result.error_code for result in answer.responses] == [code]
    assert broker.topic_id("a")


async def test_the_name_is_free_at_once_and_the_new_topic_is_another(
    broker: test_broker, tmp_path: Path
) -> None:
    broker.create_topic("t", 2)
    first = broker.topic_id("t")
    partition = broker._running.services.topics._by_name["t"].partitions[0]
    broker.delete_topic("t")
    assert partition.is_deleted
    broker.create_topic("t")
    second = broker.topic_id("t")
    assert first != second
    assert broker._running.services.topics.by_id(first) is None
    with pytest.raises(KeyError):
        broker.delete_topic("nosuch")


async def grow(client: Any, version: int = 3, **topics: Any) -> dict[str, tuple[int, str | None]]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if replicas is None
                else [CreatePartitionsAssignment(broker_ids=nodes) for nodes in replicas],
            )
            for name, (count, replicas) in topics.items()
        ],
    )
    answer = await client.ask(request, version)
    return {result.name: (result.error_code, result.error_message) for result in answer.results}


@pytest.mark.parametrize("version", range(4))
async def test_a_topic_grows(broker: test_broker, client: Any, version: int) -> None:
    broker.create_topic("t", 1)
    assert await grow(client, version, t=(3, None)) == {"t": (0, None)}
    assert await grow(client, version, t=(5, [[1], [1]])) == {"t": (0, None)}
    topic = broker._running.services.topics.get("t")
    assert topic is not None
    assert len(topic.partitions) == 5
    assert [partition.index for partition in topic.partitions] == [0, 1, 2, 3, 4]


async def test_what_does_not_grow(broker: test_broker, client: Any) -> None:
    for name in "abcdefg":
        broker.create_topic(name, 2)
    told = await grow(
        client,
        a=(2, None),
        b=(1, None),
        nosuch=(3, None),
        c=(4, [[1]]),
        d=(3, []),
        e=(3, [[9]]),
        f=(3, [[1, 1]]),
        g=(2**31 - 1, None),
    )
    start = "The manual partition assignment includes "
    assert told == {
        "a": (37, "Topic already has 2 partition(s)."),
        "b": (37, "The topic b currently has 2 partition(s); 1 would not be an increase."),
        "nosuch": (3, None),
        "c": (
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        "d": (
            39,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        "e": (39, f"{start}broker 9, but no such broker is registered."),
        "f": (39, f"{start}the broker 1 more than once."),
        "g": (44, "Unable to perform excessively large batch operation."),
    }


async def test_growing_may_be_only_checked_and_not_asked_twice(
    broker: test_broker, client: Any
) -> None:
    broker.create_topic("t", 1)
    twice = CreatePartitionsTopic(name="t", count=2, assignments=None)
    answer = await client.ask(CreatePartitionsRequest(topics=[twice, twice]))
    (result,) = answer.results
    assert (result.error_code, result.error_message) == (42, "Duplicate topic name.")
    answer = await client.ask(CreatePartitionsRequest(topics=[twice], validate_only=True))
    assert answer.results[0].error_code == 0
    topic = broker._running.services.topics.get("t")
    assert topic is not None
    assert len(topic.partitions) == 1


async def test_partitions_added_are_there_after_a_restart(tmp_path: Path) -> None:
    async with test_broker(data_dir=tmp_path, nodes=3) as b:
        b.create_topic("t", 1, 2)
        b._running.services.topics.add_partitions("t", 4)
    async with test_broker(data_dir=tmp_path, nodes=3) as b:
        topic = b._running.services.topics.get("t")
        assert topic is not None
        assert {len(partition.replicas) for partition in topic.partitions} == {2}
        assert len(topic.partitions) == 4
        with pytest.raises(KafkaError, match="already has 4"):
            b._running.services.topics.add_partitions("t", 4)
