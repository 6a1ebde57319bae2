"""Configs: tables, sources, precedence, and the words with which a bad value is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafkalite.__main__ import main
from kafkalite.config import (
    BROKER_CONFIGS,
    RACK_AWARE_SELECTOR,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    BrokerConfig,
    ConfigError,
    Support,
    format_value,
    validate_topic_configs,
)

# What Apache Kafka 4.3.1 answers to these (LogConfig.validate, run from its jars).
KAFKA_REFUSES = {
    ("retention.ms", "abc"): "Not a number of type LONG",
    ("retention.ms", ""): "Not a number of type LONG",
    ("retention.ms", "-5"): "Value must be at least -1",
    ("segment.bytes", "99999999999"): "Not a number of type INT",
    ("segment.bytes", "10"): "Value must be at least 1048576",
    ("cleanup.policy", "foo"): "String must be one of: compact, delete",
    ("preallocate", "yes"): "Expected value to be either true or false",
    ("min.cleanable.dirty.ratio", "1.5"): "Value must be no more than 1",
    ("min.cleanable.dirty.ratio", "x"): "Not a number of type DOUBLE",
    ("compression.type", "GZIP"): (
        "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
    ),
    ("message.timestamp.type", "x"): "String must be one of: CreateTime, LogAppendTime",
    ("compression.gzip.level", "0"): "Value must be between 1 and 9 or equal to -1",
    ("compression.zstd.level", "100"): "Value must be no more than 22",
    ("max.compaction.lag.ms", "0"): "Value must be at least 1",
    ("min.insync.replicas", "0"): "Value must be at least 1",
}


@pytest.mark.parametrize(("name", "value"), KAFKA_REFUSES)
def test_a_bad_topic_value_is_refused_in_kafkas_words(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        validate_topic_configs({name: value})
    reason = KAFKA_REFUSES[name, value]
    assert str(refused.value) == f"Invalid value {value} for configuration {name}: {reason}"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"nosuch": "1"}, "Unknown topic config name: nosuch"),
        (
            {"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "10"},
            (
                "conflict topic config setting min.compaction.lag.ms (100) > "
                "max.compaction.lag.ms (10)"
            ),
        ),
        (
            {"remote.storage.enable": "true"},
            (
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            ),
        ),
        ({"cleanup.policy": "delete,"}, "Configuration 'cleanup.policy' values must not be empty."),
        (
            {"leader.replication.throttled.replicas": "x"},
            (
                "Invalid value [x] for configuration leader.replication.throttled.replicas: "
                "leader.replication.throttled.replicas must be the literal '*' or a list of replicas "
                "in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
            ),
        ),
    ],
)
def test_what_kafka_says_of_names_and_combinations(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        validate_topic_configs(overrides)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "overrides",
    [
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact,delete"},
        {"compression.gzip.level": "-1"},
        {"leader.replication.throttled.replicas": "0:1,1:2"},
        {"leader.replication.throttled.replicas": "*"},
        {"retention.ms": " 5 "},
        {"preallocate": "TRUE"},
        {"internal.segment.bytes": "10"},
    ],
)
def test_what_kafka_takes(overrides: dict[str, str]) -> None:
    validate_topic_configs(overrides)


def test_every_default_is_a_valid_value() -> None:
    for table in (BROKER_CONFIGS, TOPIC_CONFIGS):
        for definition in table.values():
            if definition.valid not in ("non-empty list", "non-empty string"):
                definition.parse(definition.default)
            assert definition.documentation.endswith("."), definition.name


def test_every_topic_default_is_its_broker_configs_default() -> None:
    config = BrokerConfig()
    for name in TOPIC_CONFIG_SYNONYMS:
        definition = TOPIC_CONFIGS[name]
        assert config.topic_value(name, {}) == definition.parse(definition.default), name


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "# as Kafka's own\nnum.partitions = 2\nlog.retention.hours=2\nfetch.max.bytes:1024\n"
    )
    config = BrokerConfig.from_sources(
        file,
        {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_LOG_RETENTION_HOURS": "3", "PATH": "/bin"},
        {"num.partitions": "4"},
    )
    assert config.integer("num.partitions") == 4
    assert config.integer("log.retention.hours") == 3
    assert config.integer("fetch.max.bytes") == 1024
    assert config.integer("message.max.bytes") == 1048588


def test_underscores_in_the_environment_are_read_as_the_image_reads_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        BrokerConfig.from_sources(environment={"KAFKA_A__B___C_D": "1", "KAFKA_HEAP_OPTS": "-Xmx"})
    assert "config a_b-c.d is not known" in caplog.text
    assert len(caplog.records) == 1


def test_listeners_follow_the_advertised_ones_as_in_the_image() -> None:
    config = BrokerConfig.from_sources(
        environment={"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:29092", "CLUSTER_ID": "abc"}
    )
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://0.0.0.0:29092"]
    assert [str(listener) for listener in config.advertised_listeners()] == [
        "PLAINTEXT://kafka:29092"
    ]
    assert config.string("kafkalite.cluster.id") == "abc"


def test_listeners_of_controllers_are_not_for_clients() -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://localhost:9092,EXTERNAL://[::1]:0,CONTROLLER://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,external:PLAINTEXT",
        }
    )
    assert [(item.name, item.host, item.port) for item in config.listeners()] == [
        ("PLAINTEXT", "localhost", 9092),
        ("EXTERNAL", "::1", 0),
    ]


def test_each_further_node_takes_the_next_port() -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://h:9092", "kafkalite.nodes": "3"})
    ports = [config.listeners(node_id)[0].port for node_id in config.node_ids]
    assert ports == [9092, 9093, 9094]
    assert config.advertised_listeners(3)[0].port == 9094


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
                "set it to a host they can reach"
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


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the config file .*x: No such file"):
        BrokerConfig.from_sources(tmp_path / "x")


def test_an_unknown_name_in_a_file_is_left_aside_and_an_idle_one_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=4\nsome.plugin.thing=1\nlistener.name.foo.sasl.jaas.config=x\n")
    with caplog.at_level(logging.INFO):
        config = BrokerConfig.from_sources(file)
    assert config.integer("num.io.threads") == 4
    assert "config some.plugin.thing is not known" in caplog.text
    assert "no effect here: listener.name.foo.sasl.jaas.config, num.io.threads" in caplog.text
    assert BROKER_CONFIGS["num.io.threads"].support is Support.ACCEPTED


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (12345678.9, "1.23456789E7"),
        (1e-5, "1.0E-5"),
        (7, "7"),
    ],
)
def test_values_are_written_as_java_writes_them(
    value: bool | float | tuple[str, ...] | None, text: str | None
) -> None:
    assert format_value(value) == text


def test_broker_id_and_node_id_are_one_number() -> None:
    assert BrokerConfig({"broker.id": "5"}).node_id == 5
    config = BrokerConfig({"broker.id": "5", "node.id": "6"})
    assert (config.node_id, config.integer("broker.id")) == (6, 6)
    assert BrokerConfig().integer("broker.id") == 1


def test_the_configs_are_listed_with_what_becomes_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--configs", "--set", "num.partitions=7", "--set", "num.io.threads=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert rows["num.partitions"] == ["7", "set", "enforced"]
    assert rows["num.io.threads"] == ["2", "set", "accepted"]
    assert rows["log.retention.hours"] == ["168", "default", "enforced"]
    assert rows["authorizer.class.name"][-2:] == ["default", "refused"]
    assert len(rows) == 1 + sum(not item.internal for item in BROKER_CONFIGS.values())


def test_a_replica_selector_that_is_not_kafkas_is_refused() -> None:
    BrokerConfig({"replica.selector.class": RACK_AWARE_SELECTOR})
    with pytest.raises(
        ConfigError, match=r"replica\.selector\.class=com\.example\.Mine: it may be"
    ):
        BrokerConfig({"replica.selector.class": "com.example.Mine"})


@pytest.mark.parametrize(
    ("cordoned", "reason"),
    [
        ("/b,/nowhere", r"Missing entries : /nowhere"),
        ("*,/a", r"When cordoned\.log\.dirs is set to \*, it must not contain other values"),
    ],
)
def test_cordoned_log_dirs_are_log_dirs(cordoned: str, reason: str) -> None:
    config = BrokerConfig({"log.dirs": "/a,/b", "cordoned.log.dirs": "/b"})
    assert [config.is_cordoned(each) for each in config.log_dirs] == [False, True]
    with pytest.raises(ConfigError, match=reason):
        BrokerConfig({"log.dirs": "/a,/b", "cordoned.log.dirs": cordoned})
