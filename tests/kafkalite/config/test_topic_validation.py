"""Topic configs are refused in Kafka's words, one by one and together."""

from __future__ import annotations

import pytest

from kafkalite.config import (
    ConfigError,
    validate_topic_configs,
)

# The answers of Apache Kafka 4.3.1 to these (LogConfig.validate, run from its jars).
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
                "leader.replication.throttled.replicas must be the literal '*' or a list of "
                "replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
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
