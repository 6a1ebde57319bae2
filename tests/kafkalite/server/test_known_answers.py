"""A Metadata answer that was given is given again, as long as it is true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.broker import Broker
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.server.dispatch import Dispatcher
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


class Asked:
    """A broker with one topic, asked by either way."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, None)
        broker.services.topics.create(NewTopic("topic", 2, 1))

    def connection(self, listener_name: str = "PLAINTEXT") -> Any:
        listener = SimpleNamespace(node_id=1, name=listener_name)
        return SimpleNamespace(listener=listener, client_host="127.0.0.1", last_active=0.0)

    def known(self, frame: bytes, listener_name: str = "PLAINTEXT") -> Any:
        return self.dispatcher.straight(self.connection(listener_name), frame)

    def declared(self, frame: bytes, listener_name: str = "PLAINTEXT") -> bytes:
        try:
            self.dispatcher.answer(self.connection(listener_name), frame).send(None)
        except StopIteration as done:
            return b"".join(map(bytes, done.value))
        raise AssertionError("it waited")


@pytest.fixture
def asked() -> Iterator[Asked]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        properties = {
            "log.dirs": directory,
            "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
        }
        yield Asked(stack.enter_context(Broker(BrokerConfig(properties))))


def request(
    *names: str, version: int = 12, correlation_id: int = 1, client_id: str = "c", **others: Any
) -> bytes:
    topics = [MetadataRequestTopic(name=name) for name in names]
    body = MetadataRequest(topics=topics, **others)
    chunks = encode_request(ApiKey.METADATA, version, correlation_id, client_id, body)
    frame = b"".join(map(bytes, chunks))[4:]
    return frame[:4] + correlation_id.to_bytes(4) + frame[8:]


@pytest.mark.parametrize("version", range(14))
def test_it_differs_in_the_correlation_id_only(asked: Asked, version: int) -> None:
    assert asked.known(request("topic", version=version)) is None
    asked.declared(request("topic", version=version))
    for correlation_id in (2, 0x7FFFFFFF):
        frame = request("topic", version=version, correlation_id=correlation_id)
        assert asked.known(frame) == asked.declared(frame)
        assert asked.known(memoryview(frame)) == asked.declared(frame)


def test_other_questions_are_other_questions(asked: Asked) -> None:
    asked.broker.services.topics.create(NewTopic("topiC", 1, 1))
    frames = [
        request("topic"),
        request("topiC"),
        request("topic", "topiC"),
        request("topic", include_topic_authorized_operations=True),
        request("topic", version=11),
        request("topic", client_id="another"),
        request(),
    ]
    for number, frame in enumerate(frames):
        asked.declared(frame)
        assert [asked.known(each) is not None for each in frames] == [
            other <= number for other in range(len(frames))
        ]
    for frame in frames:
        assert asked.known(frame) == asked.declared(frame)


def test_listeners_have_answers_of_their_own(asked: Asked) -> None:
    frame = request("topic")
    first = asked.declared(frame)
    assert asked.known(frame, "OTHER") is None
    other = asked.declared(frame, "OTHER")
    assert first != other
    assert (asked.known(frame), asked.known(frame, "OTHER")) == (first, other)


def test_a_change_of_the_metadata_makes_it_forgotten(asked: Asked) -> None:
    frame = request("topic")
    asked.declared(frame)
    asked.broker.services.topics.create(NewTopic("more", 1, 1))
    assert asked.known(frame) is None


@pytest.mark.parametrize("create", [True, False])
def test_what_is_not_there_is_not_remembered(asked: Asked, create: bool) -> None:
    frame = request("topic", "missing", allow_auto_topic_creation=create)
    asked.declared(frame)
    assert asked.known(frame) is None
    assert (asked.broker.services.topics.get("missing") is not None) == create


def test_no_more_is_remembered_than_there_is_room_for(asked: Asked) -> None:
    frames = [request("topic", client_id=f"client-{number}") for number in range(200)]
    for frame in frames:
        asked.declared(frame)
    assert sum(asked.known(frame) is not None for frame in frames) == 128


def test_long_questions_and_answers_are_not_remembered(asked: Asked) -> None:
    long_question = request("topic", client_id="c" * 2000)
    asked.broker.services.topics.create(NewTopic("wide", 1000, 1))
    long_answer = request("wide")
    for frame in (long_question, long_answer):
        asked.declared(frame)
        assert asked.known(frame) is None


def test_nothing_is_known_when_requests_are_measured(asked: Asked) -> None:
    frame = request("topic")
    asked.declared(frame)
    measuring = Dispatcher(asked.broker.services, lambda api, handler: handler)
    assert measuring.straight(asked.connection(), frame) is None
