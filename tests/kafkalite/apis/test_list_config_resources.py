"""ListConfigResources: resources that have configs, by type."""

from __future__ import annotations

from typing import Any

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.kafkalite.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    alter,
    resource,
)


async def test_groups_and_client_metrics_are_kept(broker: test_broker, client: Any) -> None:
    told = await alter(
        client,
        resource(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        resource(CLIENT_METRICS, "m", ("interval.ms", SET, "1000"), ("metrics", SET, "*")),
    )
    assert told == [(0, None), (0, None)]
    answer = await client.ask(ListConfigResourcesRequest(), 0)
    assert [item.resource_name for item in answer.config_resources] == ["m"]
    broker.create_topic("t")
    answer = await client.ask(ListConfigResourcesRequest())
    assert [(item.resource_type, item.resource_name) for item in answer.config_resources] == [
        (TOPIC, "t"),
        (BROKER, "1"),
        (BROKER_LOGGER, "1"),
        (CLIENT_METRICS, "m"),
        (GROUP, "g"),
    ]
    answer = await client.ask(ListConfigResourcesRequest(resource_types=[GROUP]))
    assert [item.resource_name for item in answer.config_resources] == ["g"]
    assert (await client.ask(ListConfigResourcesRequest(resource_types=[3]))).error_code == 35
