"""The first and the next offsets of partitions."""

from __future__ import annotations

import time

import pytest

import kafkalite.testing
from kafkalite.terminal import offsets
from kafkalite.terminal.kafka import Kafka
from kafkalite.terminal.output import Output
from kafkalite.terminal.target import Target


def test_offsets_of_partitions(kafka: kafkalite.testing.broker, topic: str) -> None:
    now_ms = round(time.time() * 1000)
    for count in range(3):
        kafka.produce(topic, str(count), timestamp=now_ms + count)
    kafka.lose(topic, to=1)
    asked, out = Kafka(Target(kafka.bootstrap)), Output(as_json=False)
    places = [(topic, 0), (topic, 1)]
    assert offsets.earliest(asked, places, out) == {(topic, 0): 1, (topic, 1): 0}
    assert offsets.latest(asked, places, out) == {(topic, 0): 3, (topic, 1): 0}
    assert offsets.since(asked, places, out, now_ms + 2) == {(topic, 0): 2, (topic, 1): -1}
    assert offsets.latest(asked, [(topic, 9)], out) == {(topic, 9): None}


def test_more_than_one_request(
    kafka: kafkalite.testing.broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "AT_ONCE", 1)
    places = [(topic, 0), (topic, 1)]
    found = offsets.latest(Kafka(Target(kafka.bootstrap)), places, Output(as_json=False))
    assert found == dict.fromkeys(places, 0)


def test_counting_with_what_is_not_known() -> None:
    assert offsets.difference(5, 3) == 2
    assert offsets.difference(3, 5) == 0
    assert offsets.difference(None, 1) is None
    assert offsets.difference(1, None) is None
    assert offsets.total([1, None, 2]) == 3
    assert offsets.total([None]) is None
    assert offsets.total([]) == 0
