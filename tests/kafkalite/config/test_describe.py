"""Described configs: the value in force is the first of its synonyms."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.config.describe import (
    ConfigSource,
    describe_node,
    describe_topic,
    effective_source,
)


def test_the_value_in_force_is_the_first_synonym() -> None:
    config = BrokerConfig({"log.retention.ms": "9"})
    config.set_dynamic(None, {"log.retention.ms": "7"})
    found = {each.name: each for each in describe_topic(config, {}, 1)}["retention.ms"]
    assert (found.value, found.source) == ("7", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert [(each.name, each.value, each.source) for each in found.synonyms] == [
        ("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.retention.ms", "9", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "168", ConfigSource.DEFAULT),
    ]


@pytest.mark.parametrize(
    ("overrides", "dynamic", "static", "source"),
    [
        ({"retention.ms": "1"}, {"log.retention.ms": "2"}, {}, ConfigSource.TOPIC),
        ({}, {"log.retention.ms": "2"}, {}, ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ({}, {}, {"log.retention.hours": "3"}, ConfigSource.STATIC_BROKER),
        ({}, {}, {}, ConfigSource.DEFAULT),
    ],
)
def test_a_source_is_found_under_any_name(
    overrides: dict[str, str],
    dynamic: dict[str, str],
    static: dict[str, str],
    source: ConfigSource,
) -> None:
    config = BrokerConfig(static)
    config.set_dynamic(None, dynamic)
    assert effective_source(config, "retention.ms", overrides) is source


def test_a_sensitive_value_is_not_told() -> None:
    config = BrokerConfig({"ssl.keystore.password": "hunter2"})
    described = {each.name: each for each in describe_node(config, 1)}
    found = described["ssl.keystore.password"]
    assert (found.sensitive, found.value) == (True, None)
    assert not any("hunter2" in str(each) for each in described.values())
