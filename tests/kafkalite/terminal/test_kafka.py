"""One Kafka, asked by librdkafka: what it refuses is a sentence."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import click
import pytest
from confluent_kafka import KafkaError, KafkaException

import kafkalite.testing
from kafkalite.terminal import kafka
from kafkalite.terminal.kafka import Kafka, Refused, answered, not_there
from kafkalite.terminal.target import Target


def test_topics_and_partitions(kafka: kafkalite.testing.broker, topic: str) -> None:
    asked = Kafka(Target(kafka.bootstrap))
    assert topic in asked.topic_names()
    assert asked.partitions_of(topic) == [0, 1]
    with pytest.raises(Refused, match=f"there is no topic '{topic}x' .did you mean '{topic}'"):
        asked.partitions_of(topic + "x")
    assert topic + "x" not in asked.topic_names(), "asking creates nothing"


def test_a_listener_that_wants_a_login_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_FIRST_ANSWER_SECONDS", 1.0)
    with kafkalite.testing.broker(sasl="plain:alice:secret") as broker:
        settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        wrong = settings | {"sasl.username": "alice", "sasl.password": "geheim"}
        with pytest.raises(Refused, match=r"(?i)authentication failed") as refused:
            Kafka(Target(broker.bootstrap, wrong)).topic_names()
        assert "geheim" not in refused.value.message
        right = dict(broker.client_settings["librdkafka"])
        assert Kafka(Target(broker.bootstrap, right)).topic_names() == []


def test_a_wrong_setting_is_a_mistake() -> None:
    with pytest.raises(click.UsageError, match=r"no\.such"):
        _ = Kafka(Target("127.0.0.1:1", {"no.such": "1"})).admin


def test_an_answer() -> None:
    future: Future[Any] = Future()
    future.set_result(3)
    assert answered(future, "x") == 3
    future = Future()
    future.set_exception(KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)))
    with pytest.raises(Refused, match=r"group 'g': .*\(GROUP_AUTHORIZATION_FAILED\)"):
        answered(future, "group 'g'")


def test_nothing_of_the_name() -> None:
    assert not_there("topic", "ordes", ["orders"], "L").message.endswith("did you mean 'orders'?)")
    assert not_there("topic", "x", ["orders"], "L").message.endswith("(L lists what there is)")
