"""Requests that change configs."""

from __future__ import annotations

from typing import Any

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


Change = tuple[str, int, str | None]


def resource(kind: int, name: str, *changes: Change) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


async def alter(
    client: Any, *resources: AlterConfigsResource, version: int = 1, validate_only: bool = False
) -> list[tuple[int, str | None]]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = await client.ask(request, version)
    assert [(item.resource_type, item.resource_name) for item in answer.responses] == [
        (item.resource_type, item.resource_name) for item in resources
    ]
    return [(item.error_code, item.error_message) for item in answer.responses]


def configs_of(broker: test_broker, topic: str = "t") -> dict[str, str]:
    found = broker._running.services.topics.get(topic)
    assert found is not None
    return dict(found.configs)
