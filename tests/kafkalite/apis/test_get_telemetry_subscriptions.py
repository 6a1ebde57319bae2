"""GetTelemetrySubscriptions: the answer, and who is told that it may ask."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import CLIENT_METRICS_RESOURCE, ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kafkalite.config_requests import SET, alter, resource

NEW = UUID(int=0)
TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


async def subscribe(client: Any, name: str, **configs: str) -> None:
    """Set a subscription's configs (`interval_ms` for `interval.ms`)."""
    resource = AlterConfigsResource(
        resource_type=CLIENT_METRICS_RESOURCE,
        resource_name=name,
        configs=[
            AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value)
            for key, value in configs.items()
        ],
    )
    answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert [each.error_code for each in answer.responses] == [ErrorCode.NONE]


async def get(client: Any, instance_id: UUID = NEW) -> Any:
    return await client.ask(GetTelemetrySubscriptionsRequest(client_instance_id=instance_id))


async def name_itself(client: Any, name: str) -> set[int]:
    """Tell the client's software; the APIs that the answer lists."""
    asked = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    return {api.api_key for api in (await client.ask(asked)).api_keys}


async def test_clients_are_told_with_a_receiver_only(client, connect) -> None:
    assert not TELEMETRY & await name_itself(client, "a-client")
    async with test_broker({"kafkalite.client.telemetry": "true"}) as received:
        other = await connect(received)
        assert await name_itself(other, "a-client") >= TELEMETRY


async def test_the_answer_without_subscriptions(client) -> None:
    answer = await get(client)
    assert answer.error_code == ErrorCode.NONE
    assert answer.client_instance_id != NEW
    assert answer.accepted_compression_types == [4, 3, 1, 2]
    assert answer.push_interval_ms == 300_000
    assert answer.telemetry_max_bytes == 1_048_576
    assert answer.delta_temporality
    assert answer.requested_metrics == []


async def test_a_client_gets_what_all_subscriptions_ask_of_it(clients) -> None:
    operator, client = await clients.connect(), await clients.connect()
    await name_itself(client, "a-client")
    await subscribe(operator, "one", metrics="a,b", interval_ms="5000")
    await subscribe(operator, "two", metrics="b,c", match="client_software_name=a-.*")
    await subscribe(operator, "three", metrics="d", match="client_software_name=b-.*")
    answer = await get(client)
    assert sorted(answer.requested_metrics) == ["a", "b", "c"]
    assert answer.push_interval_ms == 5000


async def test_all_metrics(clients) -> None:
    client = await clients.connect()
    await subscribe(client, "one", metrics="a")
    await subscribe(client, "two", metrics="*,b")
    assert (await get(client)).requested_metrics == ["*"]


async def test_the_second_question_comes_too_soon_unless_something_has_changed(clients) -> None:
    client = await clients.connect()
    first = await get(client)
    refused = await get(client, first.client_instance_id)
    assert refused.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert refused.client_instance_id == NEW
    await subscribe(client, "one", metrics="a")
    changed = await get(client, first.client_instance_id)
    assert changed.error_code == ErrorCode.NONE
    assert changed.subscription_id != first.subscription_id
    assert changed.requested_metrics == ["a"]


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("client_id=test", True),
        ("client_source_address=127\\.0\\.0\\.1", True),
        ("client_software_name=unknown", True),  # it has not said
        ("client_source_port=1", False),
    ],
)
async def test_selectors(client, selector: str, matches: bool) -> None:
    await subscribe(client, "one", metrics="a", match=selector)
    assert (await get(client)).requested_metrics == (["a"] if matches else [])


async def test_very_many_subscriptions_hold_nobody_up(client: Any) -> None:
    """The watchdog of every test of the broker sees to it."""
    for start in range(0, 500, 100):
        await alter(
            client,
            *(
                resource(
                    CLIENT_METRICS_RESOURCE,
                    f"s{number}",
                    ("metrics", SET, ",".join(f"m{number}.{each}" for each in range(20))),
                )
                for number in range(start, start + 100)
            ),
        )
    assert len((await get(client)).requested_metrics) == 500 * 20
