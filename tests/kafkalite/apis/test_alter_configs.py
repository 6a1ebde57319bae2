"""AlterConfigs replaces all configs of a resource."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_configs import (
    AlterableConfig as ReplacingConfig,
)
from kafkalite.wire.messages.alter_configs import (
    AlterConfigsRequest,
)
from kafkalite.wire.messages.alter_configs import (
    AlterConfigsResource as ReplacedResource,
)
from tests.kafkalite.config_requests import BROKER_LOGGER, TOPIC, configs_of


async def replace(
    client: Any, kind: int, name: str, version: int = 2, **configs: str | None
) -> tuple[int, str | None]:
    wanted = ReplacedResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            ReplacingConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    answer = await client.ask(AlterConfigsRequest(resources=[wanted]), version)
    return answer.responses[0].error_code, answer.responses[0].error_message


@pytest.mark.parametrize("version", range(3))
async def test_the_old_way_replaces_everything(
    broker: test_broker, client: Any, version: int
) -> None:
    broker.create_topic("t", configs={"retention.bytes": 7, "retention.ms": 8})
    assert await replace(client, TOPIC, "t", version, retention_ms="9") == (0, None)
    assert configs_of(broker) == {"retention.ms": "9"}
    assert (await replace(client, TOPIC, "t", version, retention_ms="x"))[0] == 40
    assert (await replace(client, TOPIC, "nosuch", version))[0] == 3
    assert (await replace(client, BROKER_LOGGER, "1", version, root="INFO"))[0] == 42
    assert configs_of(broker) == {"retention.ms": "9"}
    assert await replace(client, TOPIC, "t", version) == (0, None)
    assert configs_of(broker) == {}
