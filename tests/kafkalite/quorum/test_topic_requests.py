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


async def test_a_refusal_stands_for_as_long_as_it_is_told(
    autojump_clock: trio.testing.MockClock,
) -> None:
    code = ErrorCode.INVALID_REPLICATION_FACTOR
    refused = CreatableTopicResult(name="t", error_code=code, error_message="too few")
    asking, link = channel(Quorum(A), CreateTopicsResponse(topics=[refused]))
    requests = TopicRequests(asking)
    topic = CreatableTopic(name="t")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        assert requests.ask_for(topic, 10) is None
        await trio.sleep(1)
        refusal = requests.ask_for(topic, 10)
        assert refusal is not None
        assert (refusal.code, refusal.message) == (code, "too few")
        await trio.sleep(5)
        assert requests.ask_for(topic, 10) is refusal
        assert len(link.asked) == 1
        assert requests.ask_for(topic) is None  # who does not wait for it has it asked for
        await trio.sleep(1)
        assert len(link.asked) == 2
        assert requests.ask_for(topic, 10) is None  # as that one was for now only
        await trio.sleep(11)
        assert requests.ask_for(topic, 10) is None
        await trio.sleep(1)
        assert len(link.asked) == 4
        nursery.cancel_scope.cancel()


async def test_that_no_controller_answers_is_a_refusal(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asking, _ = channel(Quorum(A), CreateTopicsResponse())
    quorum = asking._quorum
    assert isinstance(quorum, Quorum)
    quorum.leader_address = None
    requests = TopicRequests(asking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        assert requests.ask_for(CreatableTopic(name="t"), 100) is None
        await trio.sleep(60)
        refusal = requests.ask_for(CreatableTopic(name="t"), 100)
        assert refusal is not None
        assert "no active controller" in str(refusal.message)
        nursery.cancel_scope.cancel()


async def test_refusals_are_kept_of_a_thousand_topics(
    autojump_clock: trio.testing.MockClock,
) -> None:
    names = [f"t{number}" for number in range(1200)]
    refused = [
        CreatableTopicResult(name=each, error_code=ErrorCode.INVALID_CONFIG) for each in names
    ]
    asking, _ = channel(Quorum(A), CreateTopicsResponse(topics=refused))
    requests = TopicRequests(asking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        for name in names:
            requests.ask_for(CreatableTopic(name=name), 10)
        await trio.sleep(1)
        assert len(requests._refusals) == 1000
        assert requests._retry_seconds == {}
        assert requests.ask_for(CreatableTopic(name=names[-1]), 10) is not None
        await trio.sleep(20)
        requests.ask_for(CreatableTopic(name=names[0]), 10)
        await trio.sleep(1)
        assert [*requests._refusals] == names[:1]  # the others do not stand any more
        nursery.cancel_scope.cancel()
