"""AlterClientQuotas: an entity changes as a whole, or is refused in Kafka's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kafkalite.quotas_and_credentials import Entity, alter, described


async def test_an_entity_changes_as_a_whole_or_not_at_all(client: Any) -> None:
    told = await alter(client, {"user": "u"}, producer_byte_rate=5.0, consumer_byte_rate=0.5)
    assert told == (42, "consumer_byte_rate cannot be a fractional value.")
    assert await described(client) == []
    assert await alter(client, {"user": "u"}, validate_only=True, producer_byte_rate=5.0) == (
        0,
        None,
    )
    assert await described(client) == []


@pytest.mark.parametrize(
    ("entity", "key", "value", "message"),
    [
        ({}, "producer_byte_rate", 1.0, "Invalid empty client quota entity"),
        ({"x": "y"}, "producer_byte_rate", 1.0, "Unhandled client quota entity type: x"),
        ({"user": "u"}, "nosuch", 1.0, "Invalid configuration key nosuch"),
        ({"user": "u"}, "producer_byte_rate", -1.0, "Quota producer_byte_rate must be greater"),
        ({"user": "u"}, "producer_byte_rate", 1e19, "Proposed value for producer_byte_rate is too"),
        ({"ip": "nowhere"}, "connection_creation_rate", 1.0, "nowhere is not a valid IP"),
        ({"ip": "::1", "user": "u"}, "connection_creation_rate", 1.0, "Invalid quota entity comb"),
        ({"ip": "::1"}, "producer_byte_rate", 1.0, "Invalid configuration key producer_byte_rate"),
    ],
)
async def test_quotas_that_are_refused(
    client: Any, entity: Entity, key: str, value: float, message: str
) -> None:
    code, text = await alter(client, entity, **{key: value})
    assert code == 42
    assert text is not None
    assert text.startswith(message)
