"""Configs that are refused while running, with the words and codes of Kafka."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.cluster.config_validation import ConfigValidation
from kafkalite.config import GROUP_CONFIGS
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.server.one_dispatcher import one_dispatcher

REQUEST, CONFIG = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG


def refusal(
    resource_type: int,
    name: str,
    configs: Mapping[str, str],
    changed: list[str] | None = None,
    features: Mapping[str, int] | None = None,
    broker: dict[str, str] | None = None,
) -> tuple[ErrorCode, str | None] | None:
    """The code and the words for a resource that would have `configs`. None: they are fine."""
    with one_dispatcher(broker) as asked:
        cluster = asked.services.cluster
        for feature, level in (features or {}).items():
            cluster.image.features[feature] = level
        try:
            changes = list(configs) if changed is None else changed
            at_once(ConfigValidation(cluster).validate(resource_type, name, configs, changes))
        except KafkaError as error:
            return error.code, error.message
    return None


@pytest.mark.parametrize(
    ("resource_type", "name", "configs"),
    [
        (BROKER_RESOURCE, "1", {"message.max.bytes": "1000"}),
        (BROKER_RESOURCE, "", {"message.max.bytes": "1000"}),
        (BROKER_RESOURCE, "1", {"a.plugin.s": "own"}),
        (GROUP_RESOURCE, "g", {"consumer.session.timeout.ms": "50000"}),
        (CLIENT_METRICS_RESOURCE, "s", {"interval.ms": "100"}),
    ],
)
def test_configs_that_are_fine(resource_type: int, name: str, configs: dict[str, str]) -> None:
    assert refusal(resource_type, name, configs) is None


@pytest.mark.parametrize("name", ["listeners", "listener.security.protocol.map"])
def test_what_only_a_start_takes_is_refused(name: str) -> None:
    assert refusal(BROKER_RESOURCE, "1", {name: "PLAINTEXT://127.0.0.1:1"}) == (
        CONFIG,
        f"config {name}: kafkalite takes it at its start only",
    )


@pytest.mark.parametrize(
    ("name", "configs", "words"),
    [
        (
            "1",
            {"broker.id": "7", "log.dirs": "x"},
            "Cannot update these configs dynamically: [broker.id, log.dirs]",
        ),
        (
            "",
            {"listeners": "PLAINTEXT://h:1"},
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [listeners]"
            ),
        ),
        (
            "1",
            {"ssl.keystore.location": "x"},
            (
                "These security configs can be dynamically updated only per-listener using the "
                "listener prefix: [ssl.keystore.location]"
            ),
        ),
    ],
)
def test_levels_of_a_node_s_configs(name: str, configs: dict[str, str], words: str) -> None:
    assert refusal(BROKER_RESOURCE, name, configs) == (REQUEST, words)


def test_a_bad_value_spoils_all_of_a_node_s_configs() -> None:
    """Configs that do not change are checked, too."""
    found = refusal(BROKER_RESOURCE, "1", {"message.max.bytes": "x"}, changed=[])
    assert found is not None
    assert found[0] is REQUEST


@pytest.mark.parametrize(
    ("name", "configs", "words"),
    [
        (
            "1",
            {"min.insync.replicas": "1"},
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        ("", {}, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
    ],
)
def test_min_insync_replicas_stays_while_elr_is_enabled(
    name: str, configs: dict[str, str], words: str
) -> None:
    changed = ["min.insync.replicas"]
    with_elr = {"eligible.leader.replicas.version": 1}
    assert refusal(BROKER_RESOURCE, name, configs, changed, with_elr) == (CONFIG, words)
    without = {"eligible.leader.replicas.version": 0}
    assert refusal(BROKER_RESOURCE, name, configs, changed, without) is None


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"no.such": "1"}, "Unknown group config name: no.such"),
        (
            {"consumer.session.timeout.ms": "1000"},
            (
                "consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            {"share.heartbeat.interval.ms": "999999"},
            (
                "share.heartbeat.interval.ms must be less than or equal to "
                "group.share.max.heartbeat.interval.ms"
            ),
        ),
        (
            {"streams.num.standby.replicas": "9"},
            (
                "streams.num.standby.replicas must be less than or equal to "
                "group.streams.max.standby.replicas"
            ),
        ),
    ],
)
def test_the_brokers_limits_hold_for_groups(configs: dict[str, str], words: str) -> None:
    assert refusal(GROUP_RESOURCE, "g", configs) == (CONFIG, words)


@pytest.mark.parametrize("family", ["consumer", "share", "streams"])
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("session.timeout.ms", 40_000, 50_000),
        ("heartbeat.interval.ms", 4_000, 6_000),
        ("assignment.interval.ms", 500, 2_000),
        ("record.lock.duration.ms", 16_000, 40_000),
        ("delivery.count.limit", 3, 7),
        ("partition.max.record.locks", 1_000, 3_000),
    ],
)
def test_each_limit_is_the_brokers(family: str, name: str, least: int, most: int) -> None:
    if f"{family}.{name}" not in GROUP_CONFIGS:
        assert family != "share"
        return
    broker = {f"group.{family}.min.{name}": f"{least}", f"group.{family}.max.{name}": f"{most}"}
    own = f"{family}.{name}"
    for value, limit, words in (
        (least - 1, "min", "greater"),
        (least, None, ""),
        (most, None, ""),
        (most + 1, "max", "less"),
    ):
        expected = (
            CONFIG,
            f"{own} must be {words} than or equal to group.{family}.{limit}.{name}",
        )
        found = refusal(GROUP_RESOURCE, "g", {own: f"{value}"}, broker=broker)
        assert found == (expected if limit else None)


@pytest.mark.parametrize(
    ("resource_type", "words"),
    [
        (TOPIC_RESOURCE, "Default topic resources are not allowed."),
        (GROUP_RESOURCE, "Default group resources are not allowed."),
        (CLIENT_METRICS_RESOURCE, "Subscription name can't be empty"),
        (99, "Unknown resource type 99"),
    ],
)
def test_resources_that_have_no_configs(resource_type: int, words: str) -> None:
    assert refusal(resource_type, "", {}) == (REQUEST, words)


def test_a_topic_must_be_there() -> None:
    assert refusal(TOPIC_RESOURCE, "t", {"retention.ms": "1"}) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 't' does not exist.",
    )


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"no.such": "1"}, "Unknown client metrics configuration: no.such"),
        (
            {"interval.ms": "99"},
            ("Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)"),
        ),
    ],
)
def test_client_metrics(configs: dict[str, str], words: str) -> None:
    assert refusal(CLIENT_METRICS_RESOURCE, "s", configs) == (REQUEST, words)


def test_a_value_has_its_longest_size() -> None:
    longest = "x" * 32767
    assert refusal(BROKER_RESOURCE, "1", {"own": longest}) is None
    found = refusal(BROKER_RESOURCE, "1", {"own": longest + "x"})
    assert found is not None
    assert found[0] is CONFIG


OF_LISTENER = "listener.name.plaintext."


@pytest.mark.parametrize(
    ("configs", "is_refused"),
    [
        ({"sasl.kerberos.service.name": "k", f"{OF_LISTENER}sasl.enabled.mechanisms": "X"}, True),
        ({"max.connections": "9", f"{OF_LISTENER}ssl.client.auth": "none"}, True),
        ({"num.io.threads": "4", f"{OF_LISTENER}ssl.client.auth": "none"}, False),
        ({"max.connections": "9", f"{OF_LISTENER}max.connections": "5"}, False),
        ({"max.connections": "9", "listener.name.other.ssl.client.auth": "none"}, False),
        ({f"{OF_LISTENER}sasl.enabled.mechanisms": "X"}, False),
    ],
)
def test_a_running_listener_and_its_node_do_not_change_together(
    configs: dict[str, str], is_refused: bool
) -> None:
    words = (
        "Invalid value org.apache.kafka.common.config.ConfigException: Configs cannot be updated "
        "dynamically for existing listener ListenerName(PLAINTEXT), restart broker or create a new "
        "listener for update for configuration Invalid dynamic configuration"
    )
    assert refusal(BROKER_RESOURCE, "1", configs) == ((REQUEST, words) if is_refused else None)


def test_numbers_of_groups_are_read_as_java_reads_them() -> None:
    name = "consumer.assignment.interval.ms"
    assert refusal(GROUP_RESOURCE, "g", {name: "\x1f\u0665\0"}) is None
    said = f"{name} must be less than or equal to group.consumer.max.assignment.interval.ms"
    assert refusal(GROUP_RESOURCE, "g", {name: "\u0661\u0666000"}) == (CONFIG, said)
