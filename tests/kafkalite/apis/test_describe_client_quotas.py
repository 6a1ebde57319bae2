"""DescribeClientQuotas: entities found by exact name, default and any."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kafkalite.quotas_and_credentials import Entity, alter, described

EXACT, DEFAULT, SPECIFIED = range(3)


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas(client: Any, version: int) -> None:
    both: Entity = {"user": "u", "client-id": "c"}
    for entity, value in ((both, 1.0), ({"user": "u"}, 2.0), ({"user": None}, 3.0)):
        assert await alter(client, entity, version, producer_byte_rate=value) == (0, None)
    all_of_u = [
        (both, {"producer_byte_rate": 1.0}),
        ({"user": "u"}, {"producer_byte_rate": 2.0}),
    ]
    by_name = ("user", EXACT, "u")
    assert await described(client, by_name, version=version) == all_of_u
    assert await described(client, by_name, strict=True, version=version) == all_of_u[1:]
    default = [({"user": None}, {"producer_byte_rate": 3.0})]
    assert await described(client, ("user", DEFAULT, None), version=version) == default
    every = await described(client, ("user", SPECIFIED, None), version=version)
    assert every == all_of_u + default
    assert await described(client, version=version) == every
    assert await described(client, ("ip", SPECIFIED, None), version=version) == []


async def test_the_values_come_in_the_order_of_kafkas_table(client: Any) -> None:
    entity: Entity = {"user": "u", "client-id": "c"}
    keys = {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0, "request_percentage": 0.5}
    assert await alter(client, entity, 1, **keys) == (0, None)
    ((_, values),) = await described(client, ("user", EXACT, "u"))
    assert list(values) == ["consumer_byte_rate", "request_percentage", "producer_byte_rate"]
    assert await alter(client, entity, 1, controller_mutation_rate=4.0) == (0, None)
    ((_, values),) = await described(client, ("user", EXACT, "u"))
    assert list(values) == [
        "producer_byte_rate",
        "consumer_byte_rate",
        "controller_mutation_rate",
        "request_percentage",
    ]
