"""A Metadata response is built once, and sent again as long as it is true."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from kafkalite.apis.metadata import handle
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.requests.slices import at_once
from kafkalite.security.authorized_operations import TOPIC_OPERATIONS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.server.one_dispatcher import OneDispatcher, one_dispatcher

TWO_LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
}


@pytest.fixture
def asked() -> Iterator[OneDispatcher]:
    with one_dispatcher(TWO_LISTENERS) as asked:
        asked.services.topics.create(NewTopic("topic", 2, 1))
        yield asked


def kept(asked: OneDispatcher, listener_name: str = "PLAINTEXT") -> dict[Any, Any]:
    key = ("metadata responses", listener_name)
    responses: dict[Any, Any] = asked.services.cluster.cache.get(key, {})
    return responses


def request(*names: str, version: int = 12, correlation_id: int = 1, **others: Any) -> bytes:
    body = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **others)
    return join(encode_request(ApiKey.METADATA, version, correlation_id, "me", body))[4:]


@pytest.mark.parametrize("version", range(14))
def test_a_kept_response_differs_in_the_correlation_id_only(
    asked: OneDispatcher, version: int
) -> None:
    first = asked.respond(request("topic", version=version))
    assert len(kept(asked)) == 1
    for correlation_id in (2, 0x7FFFFFFF):
        again = asked.respond(request("topic", version=version, correlation_id=correlation_id))
        assert again == first[:4] + correlation_id.to_bytes(4, "big") + first[8:]
    assert len(kept(asked)) == 1


def test_other_questions_have_other_responses(asked: OneDispatcher) -> None:
    asked.services.topics.create(NewTopic("topiC", 1, 1))
    frames = [
        request("topic"),
        request("topiC"),
        request("topic", "topiC"),
        request("topic", include_topic_authorized_operations=True),
        request("topic", version=8),
        request(),
    ]
    responses = [asked.respond(frame) for frame in frames]
    assert len(set(responses)) == len(kept(asked)) == len(frames)
    assert [asked.respond(frame) for frame in frames] == responses


def test_listeners_have_responses_of_their_own(asked: OneDispatcher) -> None:
    frame = request("topic")
    first, other = asked.respond(frame), asked.respond(frame, "OTHER")
    assert first != other
    assert (asked.respond(frame), asked.respond(frame, "OTHER")) == (first, other)
    assert len(kept(asked)) == len(kept(asked, "OTHER")) == 1


def test_a_change_of_the_metadata_ends_them(asked: OneDispatcher) -> None:
    asked.respond(request("topic"))
    asked.services.topics.create(NewTopic("more", 1, 1))
    assert not kept(asked)


def test_what_does_not_exist_is_asked_for_anew(asked: OneDispatcher) -> None:
    asked.respond(request("topic", "missing", allow_auto_topic_creation=False))
    assert not kept(asked)
    assert asked.services.topics.get("missing") is None


def test_no_more_are_kept_than_there_is_room_for(asked: OneDispatcher) -> None:
    for number in range(200):
        asked.services.topics.create(NewTopic(f"topic-{number}", 1, 1))
    for number in range(200):
        asked.respond(request(f"topic-{number}"))
    assert len(kept(asked)) == 128


def test_long_questions_and_responses_are_not_kept(asked: OneDispatcher) -> None:
    asked.services.topics.create(NewTopic("wide", 600, 1))
    asked.respond(request("wide"))
    asked.respond(request(*["topic"] * 20))
    assert not kept(asked)


def test_all_topics_are_told_from_what_is_kept_until_a_change(asked: OneDispatcher) -> None:
    cache = asked.services.cluster.cache
    key = ("metadata of all", "PLAINTEXT", 12)
    everything = MetadataRequest(topics=None)

    def names() -> set[str]:
        return {topic.name for topic in asked.ask(everything, ApiKey.METADATA, 12).topics}

    for number in range(5):
        asked.services.topics.create(NewTopic(f"topic-{number}", 2, 1))
        expected = {"topic", *(f"topic-{i}" for i in range(number + 1))}
        assert key not in cache
        assert names() == names() == names() == expected
        assert [row[1] for row in cache[key]] == [
            topic.name for topic in asked.services.topics.all()
        ]
    # Operations are not among the bytes that are kept.
    with_operations = MetadataRequest(topics=None, include_topic_authorized_operations=True)
    answers = [asked.ask(with_operations, ApiKey.METADATA, 12) for _ in range(2)]
    for answer in answers:
        assert {topic.topic_authorized_operations for topic in answer.topics} == {TOPIC_OPERATIONS}
    at_once(asked.services.topics.deleting([asked.services.topics.by_name["topic-3"].topic_id]))
    assert names() == names() == expected - {"topic-3"}


def test_many_topics_with_their_operations_are_told_in_slices(asked: OneDispatcher) -> None:
    names = [f"topic-{number}" for number in range(60)]
    for name in names:
        asked.services.topics.create(NewTopic(name, 20, 1))
    context = asked.connection().context
    context.api_version = 12

    def is_sliced(*, with_operations: bool) -> bool:
        rows = [(NO_UUID, name) for name in names]
        response = handle(asked.services, context, (rows, False, False, with_operations))
        if isinstance(response, Coroutine):
            response.close()
            return True
        return False

    for some in (names[:30], names[30:]):
        for _ in range(2):
            asked.respond(request(*some))
    assert not is_sliced(with_operations=False)
    assert is_sliced(with_operations=True)
