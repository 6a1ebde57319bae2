"""DescribeConfigs: values, their sources and synonyms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import MALFORMED, ErrorCode
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
TOPIC_SOURCE, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5


async def describe(
    client: Any,
    resource_type: int,
    name: str,
    *keys: str,
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
) -> Any:
    resource = DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=documentation
    )
    answer = await client.ask(request, version)
    (result,) = answer.results
    assert (result.resource_type, result.resource_name) == (resource_type, name)
    return result


async def configs(
    client: Any, resource_type: int, name: str, *keys: str, **options: Any
) -> dict[str, DescribeConfigsResourceResult]:
    result = await describe(client, resource_type, name, *keys, **options)
    assert (result.error_code, result.error_message) == (0, "")
    return {config.name: config for config in result.configs}


def synonyms_of(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(item.name, item.value, item.source) for item in config.synonyms]


@pytest.mark.parametrize("version", range(1, 5))
async def test_a_topics_configs(broker: test_broker, client: Any, version: int) -> None:
    broker.create_topic("t", configs={"retention.ms": 5, "cleanup.policy": "compact,delete"})
    found = await configs(client, TOPIC, "t", version=version, documentation=version >= 3)
    assert len(found) == 33  # as Apache Kafka 4.3.1 tells
    assert found["retention.ms"].value == "5"
    assert found["retention.ms"].config_source == TOPIC_SOURCE
    assert found["cleanup.policy"].value == "compact,delete"
    assert found["segment.bytes"].value == "1073741824"
    assert found["segment.bytes"].config_source == DEFAULT
    assert found["min.cleanable.dirty.ratio"].value == "0.5"
    assert not any(config.read_only or config.is_sensitive for config in found.values())
    if version >= 3:
        assert found["retention.ms"].config_type == 5
        assert found["retention.ms"].documentation
        assert found["min.cleanable.dirty.ratio"].config_type == 6
    assert synonyms_of(found["cleanup.policy"]) == [
        ("cleanup.policy", "compact,delete", TOPIC_SOURCE),
        ("log.cleanup.policy", "delete", DEFAULT),
    ]


async def test_the_layers_behind_a_topics_config(broker: test_broker, client: Any) -> None:
    broker.create_topic("t", configs={"max.message.bytes": 1})
    config = broker._running.config
    config.static["message.max.bytes"] = "2"
    config.set_dynamic(None, {"message.max.bytes": "3"})
    config.set_dynamic(1, {"message.max.bytes": "4"})
    found = await configs(client, TOPIC, "t", "max.message.bytes")
    assert list(found) == ["max.message.bytes"]
    assert synonyms_of(found["max.message.bytes"]) == [
        ("max.message.bytes", "1", TOPIC_SOURCE),
        ("message.max.bytes", "4", DYNAMIC_BROKER),
        ("message.max.bytes", "3", DYNAMIC_DEFAULT),
        ("message.max.bytes", "2", STATIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    found = await configs(client, TOPIC, "t", "max.message.bytes", synonyms=False)
    assert found["max.message.bytes"].synonyms == []


async def test_unknown_keys_are_missing_without_a_word(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    assert await configs(client, TOPIC, "t", "nosuch") == {}


async def test_a_nodes_configs(broker: test_broker, client: Any) -> None:
    found = await configs(client, BROKER, "1", documentation=True)
    assert found["num.partitions"].value == "1"
    assert found["num.partitions"].read_only
    assert not found["message.max.bytes"].read_only
    assert found["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"
    assert found["listeners"].config_source == STATIC
    assert found["ssl.keystore.password"].value is None
    assert found["ssl.keystore.password"].is_sensitive
    assert found["log.retention.ms"].value is None
    assert found["min.insync.replicas"].config_source == DYNAMIC_DEFAULT
    assert all(config.documentation for config in found.values())
    (internal,) = [await configs(client, BROKER, "1", "unstable.api.versions.enable")]
    assert internal == {}


async def test_what_holds_for_all_nodes(broker: test_broker, client: Any) -> None:
    found = await configs(client, BROKER, "")
    assert list(found) == ["min.insync.replicas"]
    assert synonyms_of(found["min.insync.replicas"]) == [
        ("min.insync.replicas", "1", DYNAMIC_DEFAULT)
    ]


async def test_a_groups_configs(client: Any) -> None:
    found = await configs(client, GROUP, "g")
    assert found["consumer.session.timeout.ms"].value == "45000"
    assert found["share.auto.offset.reset"].value == "latest"
    assert found["share.auto.offset.reset"].config_source == DEFAULT
    assert synonyms_of(found["consumer.session.timeout.ms"]) == [
        ("group.consumer.session.timeout.ms", "45000", DEFAULT)
    ]


async def test_a_config_that_nobody_knows(broker: test_broker, client: Any) -> None:
    broker._running.config.set_dynamic(None, {"a.plugins": "secret"})
    broker._running.config.set_dynamic(1, {"a.plugins": "too"})
    (found,) = (await configs(client, BROKER, "1", "a.plugins")).values()
    assert found.value is None
    assert found.is_sensitive
    assert synonyms_of(found) == [
        ("a.plugins", None, DYNAMIC_BROKER),
        ("a.plugins", None, DYNAMIC_DEFAULT),
    ]


UNKNOWN_TYPE = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (TOPIC, "nosuch", 3, ""),
        (
            TOPIC,
            "no good",
            17,
            (
                "Topic name is invalid: 'no good' contains one or more characters other than ASCII "
                "alphanumerics, '.', '_' and '-'"
            ),
        ),
        (
            BROKER,
            "2",
            42,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER_LOGGER, "", 42, "Broker id must not be empty"),
        (BROKER_LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (GROUP, "", 42, "Group name must not be empty"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (0, "x", 42, MALFORMED),
    ],
)
async def test_what_cannot_be_described(
    client: Any, resource_type: int, name: str, code: int, message: str
) -> None:
    result = await describe(client, resource_type, name)
    assert (result.error_code, result.error_message) == (code, message)


async def test_very_many_resources_of_a_type_that_is_none_do_not_hold_the_loop(client: Any) -> None:
    """The last of them fails all. The fixture that watches the loop is the judge."""
    groups = [
        DescribeConfigsResource(resource_type=GROUP, resource_name="group") for _ in range(60_000)
    ]
    odd = DescribeConfigsResource(resource_type=0, resource_name="x")
    answer = await client.ask(DescribeConfigsRequest(resources=[*groups, odd]))
    assert len(answer.results) == 60_001
    assert {each.error_code for each in answer.results} == {ErrorCode.INVALID_REQUEST}


async def test_loggers_have_levels(client: Any) -> None:
    found = await configs(client, BROKER_LOGGER, "1")
    assert found["root"].value in {"DEBUG", "INFO", "WARN", "ERROR", "FATAL"}


async def test_each_node_shows_its_own_rack_and_listeners(connect: Any) -> None:
    settings = {
        "kafkalite.racks": "a,b",
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093",
        "advertised.listeners": "PLAINTEXT://broker.example:7000",
    }
    async with test_broker(settings, nodes=2) as b:
        for node_id, rack, port in ((1, "a", 7000), (2, "b", 7001)):
            client = await connect(SimpleNamespace(bootstrap=bound(b)), node_id)
            found = await configs(client, BROKER, str(node_id))
            assert (found["broker.rack"].value, found["broker.rack"].config_source) == (
                rack,
                STATIC,
            )
            advertised = f"PLAINTEXT://broker.example:{port}"
            assert found["advertised.listeners"].value == advertised
            assert found["listeners"].value == "PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093"
            assert found["node.id"].value == str(node_id)


def bound(b: test_broker) -> str:
    """The addresses that the nodes listen on, whatever they advertise."""
    return ",".join(listener.address for listener in b._running.listeners)


async def test_what_is_kept_is_told_anew_after_a_change(broker: test_broker, client: Any) -> None:
    """Topics that have the same configs of their own share what is told of them."""
    names = ("one", "two", "other")
    for name in names:
        broker.create_topic(name, configs={"retention.ms": 5} if name == "other" else {})

    async def told() -> list[tuple[str | None, int]]:
        found = [await configs(client, TOPIC, name, "retention.ms") for name in names]
        return [(each["retention.ms"].value, each["retention.ms"].config_source) for each in found]

    week = str(7 * 24 * 3_600_000)
    assert await told() == [(week, DEFAULT), (week, DEFAULT), ("5", TOPIC_SOURCE)]
    change = AlterableConfig(name="retention.ms", config_operation=0, value="6")
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="two", configs=[change])
    await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert await told() == [(week, DEFAULT), ("6", TOPIC_SOURCE), ("5", TOPIC_SOURCE)]
    assert (await describe(client, TOPIC, "one", "segment.bytes")).configs[0].synonyms
    bare = await describe(client, TOPIC, "one", "segment.bytes", synonyms=False)
    assert bare.configs[0].synonyms == []
