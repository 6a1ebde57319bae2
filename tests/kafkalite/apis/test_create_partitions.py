"""CreatePartitions: a topic grows, or the request is refused in Kafka's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.cluster.topic_creation import Growth
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


async def grow(client: Any, version: int = 3, **topics: Any) -> dict[str, tuple[int, str | None]]:
    request = CreatePartitionsRequest(
        timeout_ms=1000,
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
    for name in "abcdefgh":
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
        h=(2**31 - 1, [[1]]),
    )
    few = "additional partition(s), but only 1 assignment(s) were specified."
    start = "The manual partition assignment includes "
    assert told == {
        "a": (37, "Topic already has 2 partition(s)."),
        "b": (37, "The topic b currently has 2 partition(s); 1 would not be an increase."),
        "nosuch": (3, None),
        "c": (39, f"Attempted to add 2 {few}"),
        "d": (
            39,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        "e": (39, f"{start}broker 9, but no such broker is registered."),
        "f": (39, f"{start}the broker 1 more than once."),
        "g": (44, "Unable to perform excessively large batch operation."),
        "h": (39, f"Attempted to add {2**31 - 3} {few}"),
    }


async def test_growing_may_be_only_checked_and_not_asked_twice(
    broker: test_broker, client: Any
) -> None:
    broker.create_topic("t", 1)
    twice = CreatePartitionsTopic(name="t", count=2, assignments=None)
    answer = await client.ask(CreatePartitionsRequest(topics=[twice, twice], timeout_ms=1000))
    (result,) = answer.results
    assert (result.error_code, result.error_message) == (42, "Duplicate topic name.")
    checked = CreatePartitionsRequest(topics=[twice], validate_only=True, timeout_ms=1000)
    answer = await client.ask(checked)
    assert answer.results[0].error_code == 0
    topic = broker._running.services.topics.get("t")
    assert topic is not None
    assert len(topic.partitions) == 1


async def test_partitions_added_are_there_after_a_restart(tmp_path: Path) -> None:
    async with test_broker(data_dir=tmp_path, nodes=3) as b:
        b.create_topic("t", 1, 2)
        at_once(b._running.services.topics.growing_all([Growth("t", 4)]))
    async with test_broker(data_dir=tmp_path, nodes=3) as b:
        topic = b._running.services.topics.get("t")
        assert topic is not None
        assert {len(partition.replicas) for partition in topic.partitions} == {2}
        assert len(topic.partitions) == 4
        (refused,) = at_once(b._running.services.topics.growing_all([Growth("t", 4)]))
        assert isinstance(refused, KafkaError)
        assert refused.message == "Topic already has 4 partition(s)."


async def test_many_topics_grow_with_one_change(broker: test_broker, client: Any) -> None:
    names = [f"t{number}" for number in range(20)]
    for name in names:
        broker.create_topic(name, 1)
    changes: list[object] = []
    broker._running.services.cluster.subscribe(lambda records: changes.append(records))
    wanted: dict[str, Any] = dict.fromkeys(names, (2, None)) | {"t7": (1, None)}
    answers = await grow(client, **wanted)
    assert list(answers) == names
    assert [name for name, (code, _) in answers.items() if code] == ["t7"]
    assert len(changes) == 1
    topics = broker._running.services.topics
    counts = {name: len(topic.partitions) for name in names if (topic := topics.get(name))}
    assert counts == dict.fromkeys(names, 2) | {"t7": 1}
