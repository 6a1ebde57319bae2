"""Groups of consumers as librdkafka describes them."""

from __future__ import annotations

import pytest

import kafkalite.testing
from kafkalite.terminal import kafka
from kafkalite.terminal.group_views import (
    Group,
    consumer_group_names,
    consumer_groups,
    member_of,
)
from kafkalite.terminal.kafka import Kafka, Refused
from kafkalite.terminal.target import Target


def test_the_view_of_a_group_without_members(kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.seed({"groups": [{"id": "at-rest", "offsets": {topic: {0: 0}}}]})
    asked = Kafka(Target(kafka.bootstrap))
    assert "at-rest" in consumer_group_names(asked)
    assert consumer_groups(asked, ["at-rest"]) == [
        Group("at-rest", "classic", "Empty", 1, None, ())
    ]
    assert consumer_groups(asked, []) == []


def test_a_kafka_that_is_gone_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka, "_FIRST_ANSWER_SECONDS", 0.5)
    with pytest.raises(Refused, match="no Kafka answers at 127"):
        consumer_group_names(Kafka(Target("127.0.0.1:1")))


def test_a_member_is_named_by_its_partitions() -> None:
    member = member_of("m-1", "app", "/10.0.0.1", None, [("orders", 0), ("orders", 1)])
    assert (member.host, member.assigned) == ("10.0.0.1", ("orders-0", "orders-1"))
    owned = Group("g", "streams", "Stable", 1, None, (member,))
    shared = Group("g", "share", "Stable", 1, None, (member, member))
    assert (owned.has_owners, shared.has_owners) == (True, False)
