"""Configs without effect are told, wherever they were set."""

from __future__ import annotations

from typing import Any

from kafkalite.control.answers import UnsupportedView
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

NO_EFFECT = "it is kept and shown, and has no effect"


async def set_config(client: Any, kind: int, resource: str, name: str, value: str) -> None:
    configs = [AlterableConfig(name=name, config_operation=0, value=value)]
    resources = [AlterConfigsResource(resource_type=kind, resource_name=resource, configs=configs)]
    answer = await client.ask(IncrementalAlterConfigsRequest(resources=resources))
    assert [each.error_code for each in answer.responses] == [0]


async def test_of_topics_nodes_and_groups(broker: test_broker, client: Any) -> None:
    k = broker.asynchronous
    broker.create_topic("t", configs={"retention.ms": 5000})
    broker.create_topic("plain", configs={"segment.index.bytes": 10485760})
    assert await k.ask("doctor") == []
    await set_config(client, 2, "t", "local.retention.ms", "7000")
    await set_config(client, 4, "", "background.threads", "12")
    await set_config(client, 4, "1", "background.threads", "13")
    assert await k.ask("doctor") == [
        UnsupportedView("topic t", "local.retention.ms", "7000", NO_EFFECT),
        UnsupportedView("every node", "background.threads", "12", NO_EFFECT),
        UnsupportedView("node 1", "background.threads", "13", NO_EFFECT),
    ]
    await set_config(client, 4, "1", "background.threads", "10")
    assert len(await k.ask("doctor")) == 2  # 10 is the default


async def test_of_the_broker() -> None:
    async with test_broker({"background.threads": 12, "num.partitions": 3}) as running:
        (found,) = await running.asynchronous.ask("doctor")
    assert found == UnsupportedView("broker", "background.threads", "12", NO_EFFECT)
