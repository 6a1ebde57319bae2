"""Described configs: the value in force is the first of its synonyms."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.config.describe import (
    ConfigSource,
    DescribedConfig,
    describe_all_nodes,
    describe_group,
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


def test_what_is_set_for_all_nodes_is_told_as_it_was_set() -> None:
    config = BrokerConfig()
    config.set_dynamic(None, {"log.segment.bytes": " +01048576 ", "super.users": "User:a"})
    told = [(each.name, each.value, each.sensitive) for each in describe_all_nodes(config)]
    assert told == [("log.segment.bytes", " +01048576 ", False), ("super.users", None, True)]
    of_node = {each.name: each for each in describe_node(config, 1)}
    assert of_node["log.segment.bytes"].value == "1048576"
    assert of_node["super.users"].value is None


def test_a_listener_s_config_is_told_as_it_was_set_before_the_node_s() -> None:
    config = BrokerConfig()
    own = "listener.name.plaintext.max.connections"
    config.set_dynamic(1, {own: "+100", "max.connections": "200"})
    described = {each.name: each for each in describe_node(config, 1)}
    found = described[own]
    assert (found.value, found.read_only) == ("+100", True)
    assert [(each.name, each.value) for each in found.synonyms] == [
        (own, "+100"),
        ("max.connections", "200"),
        ("max.connections", "2147483647"),
    ]
    assert [each.name for each in described["max.connections"].synonyms] == ["max.connections"] * 2


def test_a_limit_of_throttled_replicas_tells_no_default() -> None:
    config = BrokerConfig()
    config.set_dynamic(None, {"leader.replication.throttled.rate": "5"})
    found = {each.name: each for each in describe_node(config, 1)}
    assert len(found["leader.replication.throttled.rate"].synonyms) == 1


def test_an_internal_config_of_a_topic_is_told_as_it_was_set() -> None:
    told = describe_topic(BrokerConfig(), {"internal.segment.bytes": " 9 "}, 1)
    assert [each.value for each in told if each.name == "internal.segment.bytes"] == [" 9 "]


def told(described: DescribedConfig) -> list[tuple[str | None, ConfigSource]]:
    return [(each.value, each.source) for each in described.synonyms]


def test_a_default_that_is_not_kafka_s_is_told_as_a_default() -> None:
    name = "group.share.assignment.interval.ms"
    config = BrokerConfig()
    of_node = {each.name: each for each in describe_node(config, 1)}
    of_group = {each.name: each for each in describe_group(config, {}, 1)}
    for found in (of_node[name], of_group["share.assignment.interval.ms"]):
        assert (found.value, found.source) == ("0", ConfigSource.DEFAULT)
        assert told(found) == [("0", ConfigSource.DEFAULT)]
    delay = of_node["group.initial.rebalance.delay.ms"]
    assert (delay.value, told(delay)) == ("0", [("0", ConfigSource.DEFAULT)])
    config.set_dynamic(None, {name: "7"})
    changed = {each.name: each for each in describe_node(config, 1)}[name]
    assert changed.value == "7"
    assert told(changed) == [
        ("7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("0", ConfigSource.DEFAULT),
    ]


def test_what_is_set_is_told_as_static_before_kafka_s_default() -> None:
    name = "group.share.assignment.interval.ms"
    found = {each.name: each for each in describe_node(BrokerConfig({name: "0"}), 1)}[name]
    assert told(found) == [("0", ConfigSource.STATIC_BROKER), ("1000", ConfigSource.DEFAULT)]


def test_only_what_a_file_of_kafka_sets_is_static_where_nothing_is_set() -> None:
    described = describe_node(BrokerConfig(), 1)
    assert [each.name for each in described if each.source is ConfigSource.STATIC_BROKER] == [
        "broker.id",
        "controller.listener.names",
        "listeners",
        "log.dirs",
        "node.id",
        "offsets.topic.replication.factor",
        "process.roles",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.replication.factor",
        "transaction.state.log.min.isr",
        "transaction.state.log.replication.factor",
    ]
