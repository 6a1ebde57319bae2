"""IncrementalAlterConfigs: changes count at once and after a restart, or are refused."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkalite.requests.slices import SLICE_SECONDS, Steps
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    alter,
    configs_of,
    resource,
)
from tests.kafkalite.until import until


@pytest.mark.parametrize("version", [0, 1])
async def test_set_delete_append_subtract(broker: test_broker, client: Any, version: int) -> None:
    broker.create_topic("t", configs={"retention.bytes": 7})
    changed = resource(
        TOPIC,
        "t",
        ("retention.ms", SET, "5"),
        ("retention.bytes", DELETE, None),
        ("cleanup.policy", APPEND, "compact"),
    )
    assert await alter(client, changed, version=version) == [(0, None)]
    assert configs_of(broker) == {"retention.ms": "5", "cleanup.policy": "delete,compact"}
    changed = resource(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert await alter(client, changed, version=version) == [(0, None)]
    assert configs_of(broker)["cleanup.policy"] == "compact"


async def test_a_change_is_in_force_at_once_and_after_a_restart(
    connect: Any, tmp_path: Path
) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        b.create_topic("t", 2)
        await alter(client, resource(TOPIC, "t", ("max.message.bytes", SET, "100")))
        topic = b._running.services.topics.get("t")
        assert topic is not None
        for partition in topic.partitions:
            assert partition.log.config.max_message_bytes == 100
            with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
                partition.append(build_batch([Record(value=b"x" * 200, timestamp=1)]))
        await alter(client, resource(BROKER, "", ("log.retention.ms", SET, "77")))
        await alter(client, resource(BROKER, "1", ("message.max.bytes", SET, "88")))
        b.create_topic("u")
        other = b._running.services.topics.get("u")
        assert other is not None
        config = other.partitions[0].log.config
        assert (config.retention_ms, config.max_message_bytes) == (77, 88)
    async with test_broker(data_dir=tmp_path) as b:
        for name, size in (("t", 100), ("u", 88)):
            topic = b._running.services.topics.get(name)
            assert topic is not None
            assert topic.partitions[0].log.config.max_message_bytes == size
            assert topic.partitions[0].log.config.retention_ms == 77


async def test_validate_only_changes_nothing(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    good = resource(TOPIC, "t", ("retention.ms", SET, "5"))
    assert await alter(client, good, validate_only=True) == [(0, None)]
    assert configs_of(broker) == {}


async def test_an_unknown_operation_fails_more(broker: test_broker, client: Any) -> None:
    """All that the controller is asked for."""
    for name in "tu":
        broker.create_topic(name)
    good = resource(TOPIC, "t", ("retention.ms", SET, "5"))
    bad = resource(TOPIC, "u", ("retention.ms", 9, "5"))
    told = await alter(client, good, bad, resource(BROKER, "1", ("message.max.bytes", 9, "5")))
    assert told == [(-1, None), (-1, None), (42, "Unknown operations type 9")]
    assert configs_of(broker, "t") == {}


async def test_one_resource_fails_as_a_whole_and_alone(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    broker.create_topic("u")
    told = await alter(
        client,
        resource(TOPIC, "t", ("retention.ms", SET, "5"), ("segment.bytes", SET, "1")),
        resource(TOPIC, "u", ("retention.ms", SET, "5")),
    )
    assert [code for code, _ in told] == [40, 0]
    assert (configs_of(broker, "t"), configs_of(broker, "u")) == ({}, {"retention.ms": "5"})


@pytest.mark.parametrize(
    ("kind", "name", "change", "code", "message"),
    [
        (
            TOPIC,
            "t",
            ("retention.ms", SET, "x"),
            40,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (TOPIC, "t", ("nosuch", SET, "x"), 40, "Unknown topic config name: nosuch"),
        (
            TOPIC,
            "t",
            ("retention.ms", APPEND, "5"),
            40,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            TOPIC,
            "t",
            ("retention.ms", SUBTRACT, "5"),
            40,
            "Can't SUBTRACT to key retention.ms because its type is not LIST.",
        ),
        (
            TOPIC,
            "t",
            ("retention.ms", SET, None),
            42,
            "Null value not supported for : retention.ms",
        ),
        (TOPIC, "t", ("retention.ms", 9, "1"), -1, None),
        (TOPIC, "nosuch", ("retention.ms", SET, "5"), 3, "The topic 'nosuch' does not exist."),
        (TOPIC, "", ("retention.ms", SET, "5"), 42, "Default topic resources are not allowed."),
        (
            BROKER,
            "2",
            ("message.max.bytes", SET, "5"),
            42,
            "Unexpected broker id, expected 1, but received 2",
        ),
        (
            BROKER,
            "x",
            ("message.max.bytes", SET, "5"),
            42,
            "Node id must be an integer, but it is: x",
        ),
        (
            BROKER,
            "1",
            ("log.dirs", SET, "x"),
            42,
            "Cannot update these configs dynamically: [log.dirs]",
        ),
        (
            BROKER,
            "1",
            ("message.max.bytes", SET, "x"),
            42,
            "Invalid value x for configuration message.max.bytes: Not a number of type INT",
        ),
        (
            BROKER,
            "",
            ("listeners", SET, "PLAINTEXT://:1"),
            42,
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [listeners]"
            ),
        ),
        (
            BROKER,
            "1",
            ("min.insync.replicas", SET, "2"),
            40,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            BROKER,
            "",
            ("min.insync.replicas", DELETE, None),
            40,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
        (BROKER, "", ("nosuch", APPEND, "1"), 40, "Unknown config name: nosuch"),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "5"), 42, None),
        (GROUP, "g", ("nosuch", SET, "5"), 40, "Unknown group config name: nosuch"),
        (CLIENT_METRICS, "m", ("interval.ms", SET, "5"), 42, None),
        (7, "x", ("a", SET, "5"), 42, "Unknown resource type 7"),
        (7, "x", ("a", SUBTRACT, "5"), 42, "Unknown resource type 7"),
        (BROKER_LOGGER, "1", ("root", SET, "LOUD"), 40, None),
        (BROKER_LOGGER, "1", ("root", DELETE, None), 42, None),
        (BROKER_LOGGER, "1", ("root", APPEND, "INFO"), 42, None),
        (BROKER_LOGGER, "1", ("no.such.logger", SET, "INFO"), 40, None),
    ],
)
async def test_what_is_refused(
    broker: test_broker,
    client: Any,
    kind: int,
    name: str,
    change: Change,
    code: int,
    message: str | None,
) -> None:
    broker.create_topic("t")
    epoch = broker._running.services.cluster.epoch
    (told,) = await alter(client, resource(kind, name, change))
    assert told[0] == code
    assert told[1] == message or (message is None and told[1])
    assert broker._running.services.cluster.epoch == epoch


async def test_a_key_or_a_resource_named_twice(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    twice = ("retention.ms", SET, "5")
    assert await alter(client, resource(TOPIC, "t", twice, twice)) == [
        (42, "Error due to duplicate config keys")
    ]
    once = resource(TOPIC, "t", twice)
    assert await alter(client, once, once) == [(42, "Each resource must appear at most once.")] * 2


async def test_configs_without_effect_are_kept_and_named_once(
    broker: test_broker, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker.create_topic("t")
    for _ in range(2):
        changed = resource(TOPIC, "t", ("preallocate", SET, "true"))
        assert await alter(client, changed) == [(0, None)]
    assert configs_of(broker) == {"preallocate": "true"}
    (line,) = [each for each in caplog.messages if "have no effect here" in each]
    assert line == "configs that are kept and have no effect here: preallocate"


_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("ssl.keystore.location", "/k", 42),
        ("ssl.truststore.type", "PEM", 42),
        ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", 0),
        ("ssl.client.auth", "required", 0),
        ("sasl.enabled.mechanisms", "PLAIN", 0),
        ("sasl.jaas.config", "x", 0),
        ("principal.builder.class", _BUILDER, 0),
    ],
)
async def test_only_certificates_are_taken_per_listener_only(
    client: Any, name: str, value: str, code: int
) -> None:
    """SslConfigs.RECONFIGURABLE_CONFIGS; all other security configs are taken per broker."""
    ((told, message),) = await alter(client, resource(BROKER, "1", (name, SET, value)))
    assert told == code, message
    if code:
        assert message == (
            "These security configs can be dynamically updated only per-listener using the "
            f"listener prefix: [{name}]"
        )


_UNKNOWN_CLASS = "Invalid value com.A for configuration {}: Class com.A could not be found."


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (("listener.name.x.connections.max.reauth.ms", SET, "1000"), (0, None)),
        (("listener.name.x.plain.sasl.server.callback.handler.class", SET, _BUILDER), (0, None)),
        (("connections.max.reauth.ms", DELETE, None), (0, None)),
        (
            ("connections.max.reauth.ms", SET, "1000"),
            (42, "Cannot update these configs dynamically: [connections.max.reauth.ms]"),
        ),
        (
            ("listener.name.x.principal.builder.class", SET, "com.A"),
            (42, _UNKNOWN_CLASS.format("principal.builder.class")),
        ),
        (
            ("listener.name.x.plain.sasl.server.callback.handler.class", SET, "com.A"),
            (
                42,
                "Invalid value org.apache.kafka.common.config.ConfigException: "
                + _UNKNOWN_CLASS.format("sasl.server.callback.handler.class")
                + " for configuration Invalid dynamic configuration",
            ),
        ),
    ],
    ids=str,
)
async def test_a_listener_s_own_configs_are_kept_for_its_next_start(
    client: Any, change: Change, answer: tuple[int, str | None]
) -> None:
    """DynamicBrokerConfig.nonDynamicConfigs looks at whole names, with the listener's prefix."""
    assert await alter(client, resource(BROKER, "1", change)) == [answer]


@pytest.mark.parametrize("name", ["plugin.{}", "listener.name.l{}.ssl.cipher.suites"])
async def test_very_many_configs_of_a_node_do_not_hold_the_loop(client: Any, name: str) -> None:
    """A request may change so many. The fixture that watches the loop is the judge."""
    changes = [(name.format(number), SET, "x") for number in range(10_000)]
    asked = resource(BROKER, "1", *changes)
    assert await alter(client, asked, validate_only=True) == [(0, None)]


async def test_many_configs_of_many_topics_do_not_hold_the_loop(
    broker: test_broker, client: Any
) -> None:
    """A topic is configured once, however many of its configs change: the watchdog is the judge."""
    names = [f"t{number}" for number in range(100)]
    for name in names:
        broker.create_topic(name)
    sizes = ("max.message.bytes", "flush.messages", "flush.ms", "delete.retention.ms")
    times = ("retention.ms", "retention.bytes", "max.compaction.lag.ms", "segment.jitter.ms")
    others = (
        *("segment.ms", "index.interval.bytes", "min.compaction.lag.ms", "file.delete.delay.ms"),
        *("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"),
    )
    changed = [
        resource(TOPIC, name, *((each, SET, str(5000 + at)) for each in (*sizes, *times, *others)))
        for at, name in enumerate(names)
    ]
    assert await alter(client, *changed) == [(0, None)] * 100
    for at, name in enumerate(names):
        topic = broker._running.services.topics.get(name)
        assert topic is not None
        config = topic.partitions[0].log.config
        assert (config.max_message_bytes, config.segment_ms) == (5000 + at, 5000 + at)


@pytest.mark.parametrize("resource_type", [TOPIC, BROKER])
async def test_a_step_configures_one_topic(broker: test_broker, resource_type: int) -> None:
    """Each topic may be configured like no other, and have very many partitions."""
    names = [f"t{number}" for number in range(20)]
    for name in names:
        broker.create_topic(name)
    services = broker._running.services
    topics = [services.topics.partition(name, 0) for name in names]
    if resource_type == BROKER:
        wanted = [("", "log.retention.ms", "77")]
    else:
        wanted = [(name, "retention.ms", "77") for name in names]
    records = [
        ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
        for resource, name, value in wanted
    ]
    counts = [0]
    for wait in services.cluster.writing(records):
        if wait is not None:
            wait()
        counts.append(sum(topic.log.config.retention_ms == 77 for topic in topics))
        assert services.cluster.is_changing or counts[-1] in (0, 20)
    counts.append(sum(topic.log.config.retention_ms == 77 for topic in topics))
    assert sorted(counts) == counts
    assert set(counts) == {*range(21)}


async def test_a_change_goes_on_without_its_client(broker: test_broker, client: Any) -> None:
    """The connection is cut after the first of many steps: the others follow, and nobody asks."""
    names = [f"t{number}" for number in range(5)]
    for name in names:
        broker.create_topic(name)
    services = broker._running.services
    connections = broker._running._connections
    changed = [resource(TOPIC, name, ("retention.ms", SET, "77")) for name in names]

    def in_force() -> int:
        partitions = [services.topics.partition(name, 0) for name in names]
        return sum(each.log.config.retention_ms == 77 for each in partitions)

    def cutting(records: Sequence[object]) -> Steps[None]:
        """Takes longer than a slice, so that the next step is another turn's."""
        for act in (int, connections.cut_all):  # the first step moves to the connection's task
            act()
            time.sleep(2 * SLICE_SECONDS)
            yield
        assert in_force() == 0, "half of the change is to be seen here"

    services.cluster._subscribers.insert(0, cutting)
    with pytest.raises(AssertionError, match="closed the connection"):
        await alter(client, *changed)
    services.cluster._subscribers.remove(cutting)
    await until(lambda: not len(connections))
    await until(lambda: in_force() == len(names) and not services.cluster.is_changing)
