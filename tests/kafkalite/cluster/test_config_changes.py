"""Dynamic configs of several nodes: which node's value counts, and which source is described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.cluster.config_changes import (
    ConfigChange,
    Operation,
    _apply,
    altering_each,
    check_changes,
)
from kafkalite.replica.topics import NewTopic
from kafkalite.requests.slices import AT_ONCE, Steps, at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.snapshots import Opened, create
from tests.least_time import least_seconds

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5
EVERYWHERE = ""


def listed(before: str, operation: Operation, value: str) -> str:
    """A list of a topic after one change."""
    name = "leader.replication.throttled.replicas"
    configs = {name: before}
    _apply(TOPIC_RESOURCE, configs, ConfigChange(name, operation, value))
    return configs[name]


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [
        ("a,b", Operation.APPEND, "c,a,d,c", "a,b,c,d"),
        ("a,b,a", Operation.APPEND, "c,", "a,b,a,c"),
        ("a", Operation.APPEND, ",", "a"),
        ("a", Operation.APPEND, "", "a,"),
        ("a,b,a,a", Operation.SUBTRACT, "a,c,a", "b,a"),
        ("a,b", Operation.SUBTRACT, "b,", "a"),
    ],
)
def test_lists_are_added_to_and_taken_from(
    before: str, operation: Operation, value: str, after: str
) -> None:
    assert listed(before, operation, value) == after


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.SUBTRACT])
def test_a_name_with_a_listener_s_prefix_is_no_list(operation: Operation) -> None:
    name = "listener.name.plaintext.max.connections"
    with pytest.raises(KafkaError) as refused:
        _apply(BROKER, {}, ConfigChange(name, operation, "1"))
    assert refused.value.message == f"Unknown config name: {name}"


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.SUBTRACT])
@pytest.mark.parametrize("name", ["controller.listener.names", "process.roles"])
def test_a_list_without_a_default_cannot_be_added_to(name: str, operation: Operation) -> None:
    """Apache Kafka fails where it looks for the default."""
    with pytest.raises(KafkaError) as refused:
        _apply(BROKER, {}, ConfigChange(name, operation, "broker"))
    assert (refused.value.code, refused.value.message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.SUBTRACT])
def test_a_long_list_is_changed_at_once(operation: Operation) -> None:
    """The value is as long as a text may be."""
    before, value = (",".join(f"{kind}:{n}" for n in range(5000)) for kind in "01")
    assert least_seconds(lambda: listed(f"{before},{value}", operation, value)) < 0.05


async def alter(client: Any, node: str, name: str, value: str | None) -> tuple[int, str | None]:
    config = AlterableConfig(
        name=name, config_operation=DELETE if value is None else SET, value=value
    )
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=node, configs=[config])
    answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    return answer.responses[0].error_code, answer.responses[0].error_message


async def described(client: Any, kind: int, resource: str, name: str) -> list[tuple[int, str]]:
    """(source, value) of a config, and of all that stands behind it."""
    asked = DescribeConfigsResource(
        resource_type=kind, resource_name=resource, configuration_keys=[name]
    )
    answer = await client.ask(DescribeConfigsRequest(resources=[asked], include_synonyms=True))
    (config,) = answer.results[0].configs
    synonyms = [(synonym.source, synonym.value) for synonym in config.synonyms]
    assert not synonyms or (config.config_source, config.value) == synonyms[0]
    return synonyms


async def produce(client: Any, partition: int) -> int:
    """The error code of a batch of 1,100 bytes."""
    batch = memoryview(build_batch([Record(value=b"x" * 1000, timestamp=1)]))
    data = PartitionProduceData(index=partition, records=batch)
    topics = [TopicProduceData(name="t", partition_data=[data])]
    answer = await client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


TOO_LARGE = 10


async def test_a_log_has_the_configs_of_its_leader(connect: Any) -> None:
    async with test_broker({"message.max.bytes": 5000}, nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [1, 3]), (1, [2, 3])]))
        first, second, third = [await connect(b, node) for node in (1, 2, 3)]
        name = "message.max.bytes"
        assert await alter(second, "2", name, "1000") == (0, None)
        assert [await produce(first, 0), await produce(second, 1)] == [0, TOO_LARGE]
        # A node's own config wins over the one of all.
        assert await alter(first, EVERYWHERE, name, "900") == (0, None)
        assert await alter(first, "1", name, "4000") == (0, None)
        assert [await produce(first, 0), await produce(second, 1)] == [0, TOO_LARGE]
        assert await alter(second, "2", name, "4000") == (0, None)
        assert await produce(second, 1) == 0
        # Another leads: its node's counts, which is what holds for all.
        b.stop_node(2)
        assert await produce(third, 1) == TOO_LARGE
        assert await alter(first, EVERYWHERE, name, None) == (0, None)
        assert await produce(third, 1) == 0


async def test_what_is_said_of_them(connect: Any) -> None:
    async with test_broker({"log.retention.ms": 9}, nodes=2) as b:
        b.create_topic("t")
        first, second = [await connect(b, node) for node in (1, 2)]
        name = "log.retention.ms"
        await alter(second, "2", name, "2")
        await alter(second, EVERYWHERE, name, "7")
        everywhere = [(DYNAMIC_DEFAULT, "7"), (STATIC, "9"), (DEFAULT, "168")]
        assert await described(first, BROKER, "1", name) == everywhere
        assert await described(second, BROKER, "2", name) == [(DYNAMIC_BROKER, "2"), *everywhere]
        assert await described(first, TOPIC, "t", "retention.ms") == everywhere
        assert await described(second, TOPIC, "t", "retention.ms") == [
            (DYNAMIC_BROKER, "2"),
            *everywhere,
        ]
        await alter(second, "2", name, None)
        assert await described(second, BROKER, "2", name) == everywhere
        await alter(second, EVERYWHERE, name, None)
        assert await described(second, BROKER, "2", name) == everywhere[1:]
        assert await alter(first, "2", name, "5") == (
            42,
            "Unexpected broker id, expected 1, but received 2",
        )


async def test_each_node_has_its_own_id(connect: Any) -> None:
    async with test_broker({"node.id": 1}, nodes=2) as b:
        for node in (1, 2):
            found = await described(await connect(b, node), BROKER, str(node), "node.id")
            assert found == [(STATIC, str(node))]


async def test_they_survive_a_restart(connect: Any, tmp_path: Any) -> None:
    for value in ("1000", None):
        async with test_broker(nodes=2, data_dir=tmp_path) as b:
            second = await connect(b, 2)
            if value is not None:
                await alter(second, "2", "message.max.bytes", value)
            found = await described(second, BROKER, "2", "message.max.bytes")
            assert found[0] == (DYNAMIC_BROKER, "1000")
            found = await described(await connect(b, 1), BROKER, "1", "message.max.bytes")
            assert found == [(DEFAULT, "1048588")]


async def test_connections_are_counted_by_node(connect: Any) -> None:
    async with test_broker(nodes=2) as b:
        second = await connect(b, 2)
        await alter(second, "2", "max.connections.per.ip", "1")
        refused = await connect(b, 2)
        assert await refused.is_closed()
        for _ in range(3):
            await (await connect(b, 1)).ask(ApiVersionsRequest(), 0)
        # At once, too: whoever waits to be let in is let in.
        await alter(second, "2", "max.connections.per.ip", None)
        await alter(second, "2", "max.connections", "1")
        waiting = await connect(b, 2)
        await waiting.send(ApiVersionsRequest(), 0)
        await trio.sleep(0.1)
        assert [each.listener.node_id for each in b._running._connections._open].count(2) == 1
        await alter(second, "2", "max.connections", "2")
        with trio.fail_after(5):
            await waiting.answer()


def retention(value: str) -> ConfigRecord:
    return ConfigRecord(
        resource_type=TOPIC_RESOURCE, resource_name="t", name="retention.ms", value=value
    )


def resources(count: int) -> list[AlterConfigsResource]:
    return [
        AlterConfigsResource(resource_type=TOPIC, resource_name=f"t{number}", configs=[])
        for number in range(count)
    ]


def altering(cluster: Any, count: int, plan: Any, *, validate_only: bool = False) -> Any:
    request = IncrementalAlterConfigsRequest(
        resources=resources(count), validate_only=validate_only
    )
    return altering_each(cluster, request, check_nothing, plan, AlterConfigsResourceResponse)


def check_nothing(resource: AlterConfigsResource) -> Steps[None]:
    yield


def test_very_many_are_decided_anew_after_a_change_between(tmp_path: Path) -> None:
    cluster = Opened(tmp_path).start().cluster
    create(cluster, "t")
    seen: list[str | None] = []

    def plan(resource: AlterConfigsResource, checked: None) -> Steps[list[object]]:
        yield
        seen.append(cluster.image.topic_configs("t").get("retention.ms"))
        return [retention(str(len(seen)))]

    count = AT_ONCE + 1
    others = [retention("another's")]
    for wait in altering(cluster, count, plan):
        if wait is not None:
            wait()
        elif len(seen) == AT_ONCE and not cluster.is_changing and others:
            cluster.begin_write([others.pop()])
    assert seen == [None] * count + ["another's"] * count
    assert cluster.image.topic_configs("t")["retention.ms"] == str(2 * count)


def test_more_records_than_a_controller_takes_are_refused(tmp_path: Path) -> None:
    """Without a change, also of those that would have been possible."""
    cluster = Opened(tmp_path).start().cluster
    create(cluster, "t")

    def plan(resource: AlterConfigsResource, checked: None) -> Steps[list[object]]:
        yield
        return [retention("7")] * 5000

    refused = at_once(altering(cluster, 3, plan))
    assert {each.error_code for each in refused} == {ErrorCode.POLICY_VIOLATION}
    assert cluster.image.topic_configs("t") == {}
    accepted = at_once(altering(cluster, 2, plan, validate_only=True))
    assert {each.error_code for each in accepted} == {ErrorCode.NONE}


def test_more_changes_of_one_resource_than_a_controller_takes_are_refused() -> None:
    changes = [ConfigChange(f"new{number}", SET, "x") for number in range(10_001)]
    at_once(check_changes(changes[1:]))
    with pytest.raises(KafkaError) as refused:
        at_once(check_changes(changes))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
