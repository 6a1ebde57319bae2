"""The configs of a broker: precedence, topics' defaults, changes while it runs."""

from __future__ import annotations

import pytest

from kafkalite.config import (
    RACK_AWARE_SELECTOR,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    BrokerConfig,
    ConfigError,
)


def test_every_topic_default_is_its_broker_configs_default() -> None:
    config = BrokerConfig()
    for name in TOPIC_CONFIG_SYNONYMS:
        definition = TOPIC_CONFIGS[name]
        assert config.topic_value(name, {}) == definition.parse(definition.default), name


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"num.partitons": "1"}, "there is no config num.partitons (did you mean num.partitions?)"),
        (
            {"num.partitions": "0"},
            "Invalid value 0 for configuration num.partitions: Value must be at least 1",
        ),
        ({"listeners": "9092"}, "listeners: '9092' is not NAME://host:port"),
        (
            {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"},
            "listeners: each listener must have a different name",
        ),
        (
            {"listeners": "FOO://:9092"},
            (
                "listeners: no security protocol for listener FOO; "
                "listener.security.protocol.map must name it"
            ),
        ),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:9092"},
            (
                "advertised.listeners: clients cannot connect to 0.0.0.0; "
                "name a host that they "
                "can reach, as in --set advertised.listeners=PLAINTEXT://localhost:9092"
            ),
        ),
        (
            {
                "advertised.listeners": "EXTERNAL://h:1",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
            },
            "advertised.listeners: EXTERNAL is not one of listeners",
        ),
        (
            {"remote.log.storage.system.enable": "true"},
            "config remote.log.storage.system.enable=true: kafkalite does not have this",
        ),
    ],
)
def test_a_bad_config_is_one_sentence(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_sources(flags=properties)
    assert str(refused.value) == sentence


def test_a_topic_value_comes_from_the_first_broker_config_that_is_set() -> None:
    config = BrokerConfig({"log.retention.minutes": "2", "log.retention.hours": "7"})
    assert config.topic_value("retention.ms", {}) == 120_000
    assert config.topic_value("retention.ms", {"retention.ms": "5"}) == 5
    assert BrokerConfig({"log.retention.hours": "-1"}).topic_value("retention.ms", {}) == -1


def test_dynamic_configs_take_effect_at_once_and_are_told() -> None:
    config = BrokerConfig({"message.max.bytes": "1"})
    seen: list[int] = []
    config.subscribe(lambda: seen.append(config.integer("message.max.bytes")))
    config.set_dynamic(None, {"message.max.bytes": "2"})
    config.set_dynamic(1, {"message.max.bytes": "3"})
    config.set_dynamic(1, {})
    config.set_dynamic(None, {})
    assert seen == [2, 3, 2, 1]
    assert config.topic_value("max.message.bytes", {}) == 1


def test_broker_id_and_node_id_are_one_number() -> None:
    assert BrokerConfig({"broker.id": "5"}).node_id == 5
    config = BrokerConfig({"broker.id": "5", "node.id": "6"})
    assert (config.node_id, config.integer("broker.id")) == (6, 6)
    assert BrokerConfig().integer("broker.id") == 1


def test_a_replica_selector_that_is_not_kafkas_is_refused() -> None:
    BrokerConfig({"replica.selector.class": RACK_AWARE_SELECTOR})
    with pytest.raises(
        ConfigError, match=r"replica\.selector\.class=com\.example\.Mine: it may be"
    ):
        BrokerConfig({"replica.selector.class": "com.example.Mine"})


def test_the_static_configs_of_a_later_node_are_its_own() -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://:9092,INSIDE://:0,CONTROLLER://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://h:7000",
            "kafkalite.nodes": "2",
            "kafkalite.racks": "a,b",
        }
    )
    second = config.static_of(2)
    assert second["listeners"] == "PLAINTEXT://:9093,INSIDE://:0,CONTROLLER://:9093"
    assert second["advertised.listeners"] == "PLAINTEXT://h:7001"
    assert (second["node.id"], second["broker.id"], second["broker.rack"]) == ("2", "2", "b")
    assert config.static_of(1)["listeners"] == config.static["listeners"]
    assert config.static_of(1)["broker.rack"] == "a"


def test_topics_that_are_configured_alike_share_their_logs_configs() -> None:
    config = BrokerConfig({})
    alike = config.log_config({"retention.ms": "7", "flush.ms": "8"})
    assert config.log_config({"flush.ms": "8", "retention.ms": "7"}) is alike
    assert config.log_config({"retention.ms": "8", "flush.ms": "8"}).retention_ms == 8
    config.set_dynamic(None, {"log.segment.bytes": "2000000"})
    assert config.log_config({"retention.ms": "7", "flush.ms": "8"}).segment_bytes == 2_000_000
    for number in range(3000):
        assert config.log_config({"retention.ms": str(number)}).retention_ms == number
    assert len(config._log_configs) <= 1000


def test_a_change_hides_the_other_names_of_the_same_thing() -> None:
    config = BrokerConfig({"log.retention.hours": "100", "log.flush.scheduler.interval.ms": "7"})
    config.set_dynamic(None, {"log.retention.ms": "9", "log.flush.interval.ms": "8"})
    assert (config["log.retention.hours"], config["log.retention.ms"]) == (168, 9)
    assert config.topic_value("retention.ms", {}) == 9
    assert config["log.flush.scheduler.interval.ms"] == (1 << 63) - 1
    config.set_dynamic(None, {})
    assert (config["log.retention.hours"], config["log.flush.scheduler.interval.ms"]) == (100, 7)


def test_nodes_of_one_rack_need_not_be_apart() -> None:
    config = BrokerConfig({"kafkalite.racks": "a,a,b", "kafkalite.nodes": "5"})
    assert [config.rack(node_id) for node_id in config.node_ids] == ["a", "a", "b", "a", "a"]
