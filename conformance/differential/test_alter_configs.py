"""IncrementalAlterConfigs, AlterConfigs, ListConfigResources, DeleteRecords: both brokers, asked
alike."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from kafkalite.config import TOPIC_CONFIGS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_configs import AlterableConfig as ReplacingConfig
from kafkalite.wire.messages.alter_configs import AlterConfigsRequest
from kafkalite.wire.messages.alter_configs import AlterConfigsResource as ReplacedResource
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
REPLICAS = "follower.replication.throttled.replicas"
Change = tuple[str, int, str | None]


def altering(
    kind: int, name: str, *changes: Change, times: int = 1
) -> IncrementalAlterConfigsRequest:
    resource = AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )
    return IncrementalAlterConfigsRequest(resources=[resource] * times)


def replacing(kind: int, name: str, **configs: str | None) -> AlterConfigsRequest:
    resource = ReplacedResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            ReplacingConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    return AlterConfigsRequest(resources=[resource])


def described(kind: int, name: str) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=True)


TOPIC_CHANGES: list[list[Change]] = [
    [("retention.ms", SET, "5")],
    [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)],
    [("retention.ms", DELETE, None)],
    [("cleanup.policy", APPEND, "compact")],
    [("cleanup.policy", SUBTRACT, "delete")],
    [("cleanup.policy", SUBTRACT, "compact")],
    [("cleanup.policy", APPEND, "nonsense")],
    [("retention.ms", APPEND, "5")],
    [("retention.ms", SUBTRACT, "5")],
    # Java's split leaves out what is empty at the end.
    *(
        [("cleanup.policy", operation, value)]
        for operation in (APPEND, SUBTRACT)
        for value in ("compact,compact", "compact,", "delete,", ",", ",,", "", ",compact", "a,,b")
    ),
    *(
        [(REPLICAS, operation, value)]
        for operation in (APPEND, SUBTRACT)
        for value in ("0:1,0:1", "0:1,", "", ",", "*", "*,0:1")
    ),
    [("retention.ms", SET, None)],
    [("retention.ms", SET, "x"), ("segment.bytes", SET, "2000000")],
    [("no.such", SET, "x")],
    [("no.such", DELETE, None)],
    [("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")],
    [("remote.storage.enable", SET, "true")],
]


@pytest.mark.parametrize("changes", TOPIC_CHANGES, ids=str)
def test_a_topic(pair: Pair, topic: str, changes: list[Change]) -> None:
    pair.create_topic(topic)
    for version in (0, 1):
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, altering(TOPIC, topic, *changes))
    pair.settle()
    pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(TOPIC, topic))


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        (TOPIC, "no-such-topic", ("retention.ms", SET, "5")),
        (TOPIC, "", ("retention.ms", SET, "5")),
        (TOPIC, "a b", ("retention.ms", SET, "5")),
        (BROKER, "7", ("message.max.bytes", SET, "5")),
        (BROKER, "x", ("message.max.bytes", SET, "5")),
        (BROKER, "1", ("log.dirs", SET, "x")),
        (BROKER, "1", ("message.max.bytes", SET, "x")),
        (BROKER, "", ("message.max.bytes", SET, "-1")),
        (BROKER, "", ("message.max.bytes", APPEND, "5")),
        (BROKER, "", ("sasl.enabled.mechanisms", SET, "PLAIN")),
        (BROKER, "", ("cordoned.log.dirs", SET, "x")),
        (BROKER, "1", ("min.insync.replicas", SET, "2")),
        (BROKER, "", ("min.insync.replicas", DELETE, None)),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "5")),
        (GROUP, "g", ("no.such", SET, "5")),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "x")),
        (CLIENT_METRICS, "", ("interval.ms", SET, "1000")),
        (CLIENT_METRICS, "m", ("interval.ms", SET, "5")),
        (CLIENT_METRICS, "m", ("no.such", SET, "5")),
        (CLIENT_METRICS, "m", ("metrics", APPEND, "a")),
        (GROUP, "g", ("consumer.session.timeout.ms", SUBTRACT, "5")),
        (BROKER, "", ("no.such", APPEND, "x")),
        (BROKER, "", ("process.roles", APPEND, "broker")),
        (BROKER, "1", ("controller.listener.names", SUBTRACT, "x")),
        (7, "x", ("a", SET, "5")),
        (7, "x", ("a", SUBTRACT, "5")),
        (3, "x", ("a", SET, None)),
        (BROKER_LOGGER, "7", ("root", SET, "INFO")),
    ],
    ids=str,
)
def test_what_is_refused(pair: Pair, kind: int, name: str, change: Change) -> None:
    pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altering(kind, name, change))


@pytest.mark.parametrize("name", ["", "1"])
def test_a_config_of_a_node_that_nobody_knows(pair: Pair, name: str, topic: str) -> None:
    """It is kept, as it may be a plugin's; and never told, as it may be a secret."""
    for operation in (SET, DELETE):
        request = altering(BROKER, name, (topic, operation, "x"))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        pair.settle()
        for asked in ("", "1"):
            about = described(BROKER, asked)
            about.resources[0].configuration_keys = [topic]
            pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, about)


@pytest.mark.parametrize("name", ["consumer.session.timeout.ms", "share.auto.offset.reset"])
def test_a_group(pair: Pair, topic: str, name: str) -> None:
    """Its own value, the broker's behind it, and the default."""
    value = "latest" if name.startswith("share") else "50000"
    pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(GROUP, topic))
    for operation in (SET, DELETE):
        request = altering(GROUP, topic, (name, operation, value))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        pair.settle()
        pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(GROUP, topic))


def test_which_of_several_is_named(pair: Pair, topic: str) -> None:
    """The first bad value in Kafka's order is told. Unknown names and missing values come before
    them."""
    pair.create_topic(topic)
    names = list(TOPIC_CONFIGS)
    while len(names) > 1:
        changes = [(name, SET, "?") for name in names]
        request = altering(TOPIC, topic, *changes)
        answer, _ = pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        said = answer.responses[0].error_message
        (named,) = [name for name in names if f" {name}:" in said]
        names.remove(named)
    for unknown in ((("no.such", SET, "1")), ("retention.ms", SET, None)):
        request = altering(TOPIC, topic, ("cleanup.policy", SET, "?"), unknown)
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)


def test_twice(pair: Pair, topic: str) -> None:
    pair.create_topic(topic)
    request = altering(TOPIC, topic, ("retention.ms", SET, "5"), times=2)
    pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)


@pytest.mark.parametrize("version", range(3))
def test_the_old_way(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, retention_ms="7", cleanup_policy="compact")
    for request in (
        replacing(TOPIC, topic, retention_ms="9"),
        replacing(TOPIC, topic, retention_ms="x"),
        replacing(TOPIC, topic, retention_ms=None),
        replacing(TOPIC, topic, no_such="x"),
        replacing(TOPIC, topic),
        replacing(TOPIC, f"{topic}-not-there"),
        replacing(BROKER_LOGGER, "1", root="INFO"),
        replacing(BROKER, "7", message_max_bytes="5"),
    ):
        pair.ask(ApiKey.ALTER_CONFIGS, version, request)
        pair.settle()
        pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(TOPIC, topic))


def test_dynamic_configs_of_nodes(pair: Pair, topic: str) -> None:
    pair.create_topic(topic, max_message_bytes="1000")
    for name, value in (("", "2000"), ("1", "3000")):
        request = altering(BROKER, name, ("message.max.bytes", SET, value))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    wait_until_told(pair, described(TOPIC, topic), "3000")
    pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(TOPIC, topic))
    pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(BROKER, ""))
    for name in ("", "1"):
        request = altering(BROKER, name, ("message.max.bytes", DELETE, None))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)


def wait_until_told(pair: Pair, request: DescribeConfigsRequest, value: str) -> None:
    """Apache Kafka's nodes hear of a change a little after it is made."""
    for side in (pair.reference, pair.tested):
        for _ in range(200):
            answer = side.ask(ApiKey.DESCRIBE_CONFIGS, 4, request)
            values = {item.value for one in answer.results[0].configs for item in one.synonyms}
            if value in values:
                break


@pytest.mark.parametrize("types", [[GROUP], [CLIENT_METRICS], [BROKER], [BROKER_LOGGER], [3]])
def test_listing(pair: Pair, types: list[int]) -> None:
    request = ListConfigResourcesRequest(resource_types=types)
    pair.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, request)
    pair.ask(ApiKey.LIST_CONFIG_RESOURCES, 0, ListConfigResourcesRequest())


def test_deleting_records(pair: Pair, topic: str) -> None:
    pair.create_topic(topic, 2)
    compacted = pair.create_topic(f"{topic}-compacted", cleanup_policy="compact")
    kept = pair.create_topic(f"{topic}-kept", cleanup_policy="")

    def deleting(name: str, *offsets: tuple[int, int]) -> DeleteRecordsRequest:
        partitions = [
            DeleteRecordsPartition(partition_index=index, offset=offset)
            for index, offset in offsets
        ]
        topics = [DeleteRecordsTopic(name=name, partitions=partitions)]
        return DeleteRecordsRequest(topics=topics, timeout_ms=5000)

    ask: Callable[..., Any] = pair.ask
    for version in range(3):
        ask(ApiKey.DELETE_RECORDS, version, deleting(topic, (0, 0), (1, -1)))
        ask(ApiKey.DELETE_RECORDS, version, deleting(topic, (0, 1), (1, -2), (7, 0)))
        ask(ApiKey.DELETE_RECORDS, version, deleting(f"{topic}-not-there", (0, 0)))
        ask(ApiKey.DELETE_RECORDS, version, deleting(compacted, (0, 0)))
        ask(ApiKey.DELETE_RECORDS, version, deleting(kept, (0, 0)))
        ask(ApiKey.DELETE_RECORDS, version, deleting("__consumer_offsets", (0, 0)))
