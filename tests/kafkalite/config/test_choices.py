"""Configs that choose among what there is."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.choices import (
    STATES_IN_TOPIC,
    STATES_NOWHERE,
    consumer_assignors,
    keeps_share_states,
)

NOWHERE = [(name, False) for name in STATES_NOWHERE]


@pytest.mark.parametrize(
    "name", ["simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"]
)
def test_the_assignor_of_share_groups(name: str) -> None:
    assert BrokerConfig({"group.share.assignors": name}).items("group.share.assignors") == (name,)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("uniform", "uniform: there is only simple"),
        ("simple,uniform", "uniform: there is only simple"),
        (
            "simple,org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
            "must contain exactly one assignor, but found 2",
        ),
        ("", "must contain exactly one assignor, but found 0"),
    ],
)
def test_share_groups_have_one_assignor(value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        BrokerConfig({"group.share.assignors": value})


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("range",), ("range",)),
        (
            (
                "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
                "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            ),
            ("range", "uniform"),
        ),
    ],
)
def test_assignors_of_consumer_groups(texts: tuple[str, ...], names: tuple[str, ...]) -> None:
    config = BrokerConfig({"group.consumer.assignors": ",".join(texts)})
    assert config.items("group.consumer.assignors") == texts
    assert consumer_assignors(texts) == names


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("com.example.RackAwareAssignor", "there are only uniform and range"),
        ("Uniform", "there are only uniform and range"),
        ("", "'group.consumer.assignors' must not be empty"),
        (
            "uniform,org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "one of them is there twice",
        ),
    ],
)
def test_assignors_of_consumer_groups_that_there_are_not(value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        BrokerConfig({"group.consumer.assignors": value})


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_codecs_of_share_states(number: int) -> None:
    name = "share.coordinator.state.topic.compression.codec"
    assert BrokerConfig({name: str(number)}).integer(name) == number


@pytest.mark.parametrize("number", [-1, 5])
def test_a_codec_that_there_is_not(number: int) -> None:
    with pytest.raises(ConfigError, match=f"Unknown compression type id: {number}"):
        BrokerConfig({"share.coordinator.state.topic.compression.codec": str(number)})


@pytest.mark.parametrize(("name", "is_kept"), [(STATES_IN_TOPIC, True), *NOWHERE])
def test_where_share_states_are_kept(name: str, is_kept: bool) -> None:
    config = BrokerConfig({"group.share.persister.class.name": name})
    assert keeps_share_states(config) is is_kept
    assert keeps_share_states(BrokerConfig({}))


@pytest.mark.parametrize("name", ["DefaultStatePersister", "com.example.Persister"])
def test_a_persister_that_there_is_not(name: str) -> None:
    with pytest.raises(ConfigError, match=f"Unknown persister specified {name}"):
        BrokerConfig({"group.share.persister.class.name": name})
