"""Topics that clients need are asked for, each once at a time."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kafkalite.quorum.topic_requests import TopicRequests
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from tests.kafkalite.quorum.answering import A, Quorum, channel


async def test_a_topic_is_asked_for_once_at_a_time(autojump_clock: trio.testing.MockClock) -> None:
    asking, link = channel(Quorum(A), CreateTopicsResponse())
    requests = TopicRequests(asking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        for _ in range(5):
            requests.ask_for(CreatableTopic(name="t"))
            await trio.sleep(0.001)
        await trio.sleep(1)
        assert len(link.asked) == 1
        requests.ask_for(CreatableTopic(name="t"))
        await trio.sleep(1)
        assert len(link.asked) == 2
        nursery.cancel_scope.cancel()


async def test_topics_are_asked_for_together(autojump_clock: trio.testing.MockClock) -> None:
    asking, link = channel(Quorum(A), CreateTopicsResponse())
    requests = TopicRequests(asking)
    for name in ("a", "b"):
        requests.ask_for(CreatableTopic(name=name))
    requests.ask_for(CreatableTopic(name="a", num_partitions=7))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        await trio.sleep(0.005)
        requests.ask_for(CreatableTopic(name="c"))  # the first request is under way
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    asked = [[(each.name, each.num_partitions) for each in body.topics] for _, body in link.asked]
    assert asked == [[("a", 7), ("b", 0)], [("c", 0)]]


async def test_a_topic_is_asked_for_again_after_a_failure(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    refused = CreatableTopicResult(
        name="t", error_code=ErrorCode.INVALID_REPLICATION_FACTOR, error_message="too few"
    )
    there = CreatableTopicResult(name="u", error_code=ErrorCode.TOPIC_ALREADY_EXISTS)
    asking, link = channel(Quorum(A), CreateTopicsResponse(topics=[refused, there]))
    quorum = asking._quorum
    requests = TopicRequests(asking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        requests.ask_for(CreatableTopic(name="t"))
        await trio.sleep(1)
        assert "topic t not created: INVALID_REPLICATION_FACTOR too few" in caplog.text
        assert "topic u" not in caplog.text
        assert isinstance(quorum, Quorum)
        quorum.leader_address = None
        requests.ask_for(CreatableTopic(name="t"))
        await trio.sleep(60)
        assert "topics not created: no active controller" in caplog.text
        quorum.leader_address = A
        requests.ask_for(CreatableTopic(name="t"))
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert len(link.asked) == 2
