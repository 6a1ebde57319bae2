"""DescribeTopicPartitions: pages of partitions, and cursors."""

from __future__ import annotations

from typing import Any

from kafkalite.requests.slices import AT_ONCE
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)


async def pages(client: Any, limit: int, *names: str) -> list[list[tuple[str, int]]]:
    """All pages of a description, as (topic, partition)."""
    found: list[list[tuple[str, int]]] = []
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        answer = await client.ask(request)
        found.append(
            [
                (topic.name, partition.partition_index)
                for topic in answer.topics
                for partition in topic.partitions
            ]
        )
        cursor = answer.next_cursor
        if cursor is None:
            return found


async def test_topics_in_pages(broker: test_broker, client: Any) -> None:
    broker.create_topic("b", 3)
    broker.create_topic("a", 2)
    a0, a1, b0, b1, b2 = ("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)
    assert await pages(client, 2000) == [[a0, a1, b0, b1, b2]]
    assert await pages(client, 2) == [[a0, a1], [b0, b1], [b2]]
    assert await pages(client, 3) == [[a0, a1, b0], [b1, b2]]
    assert await pages(client, 1, "b") == [[b0], [b1], [b2]]
    assert await pages(client, 0, "b") == [[b0], [b1], [b2]]
    broker._running.config.set_dynamic(None, {"max.request.partition.size.limit": "4"})
    assert await pages(client, 2000) == [[a0, a1, b0, b1], [b2]]


async def test_a_long_page_is_the_same_again(broker: test_broker, client: Any) -> None:
    """The page that is remembered stays whole."""
    count = AT_ONCE + 50
    broker.create_topic("long", count)
    for _ in range(2):
        assert await pages(client, 2000, "long") == [[("long", index) for index in range(count)]]


async def test_topics_that_cannot_be_described(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in ("t", "nosuch", "no good")]
    )
    answer = await client.ask(request)
    told = {topic.name: topic.error_code for topic in answer.topics}
    assert told == {"t": 0, "nosuch": 3, "no good": 17}
    assert broker._running.services.topics.get("nosuch") is None
    for cursor in (
        Cursor(topic_name="t", partition_index=-1),
        Cursor(topic_name="x", partition_index=0),
    ):
        request.cursor = cursor
        answer = await client.ask(request)
        assert {topic.error_code for topic in answer.topics} == {42}
