"""AlterClientQuotas: an entity changes as a whole, or is refused in Kafka's words."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.testing import broker
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from tests.kafkalite.fetching import ALIVE
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
        ({"ip": "", "user": ""}, "producer_byte_rate", 1.0, "Empty user not supported"),
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


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (["nope"], "Invalid configuration key nope"),
        (["nope", "x"], "Invalid configuration key x"),
    ],
)
async def test_of_several_errors_the_one_that_kafka_meets_first_is_told(
    client: Any, others: list[str], words: str
) -> None:
    """In the order of Java's hash table, not in that of the request."""
    unknown = dict.fromkeys(others, 1.0)
    for ops in ({"producer_byte_rate": 1.5, **unknown}, {**unknown, "producer_byte_rate": 1.5}):
        assert await alter(client, {"user": "u"}, **ops) == (42, words)


async def test_an_entity_that_is_named_again_is_refused_and_changed_all_the_same(
    client: Any,
) -> None:
    entity = [EntityData("user", "u"), EntityData("client-id", None)]
    entries = [
        EntryDataRequest(entity, [OpData("producer_byte_rate", value)]) for value in (5.0, 6.0)
    ]
    (told,) = (await client.ask(AlterClientQuotasRequest(entries=entries))).entries
    words = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})"
    assert (told.error_code, told.error_message) == (42, words)
    assert await described(client) == [
        ({"client-id": None, "user": "u"}, {"producer_byte_rate": 5.0})
    ]


async def test_a_key_that_is_named_twice_is_refused(client: Any) -> None:
    twice = [OpData("producer_byte_rate", value) for value in (5.0, 6.0)]
    entries = [EntryDataRequest([EntityData("user", "u")], twice)]
    (told,) = (await client.ask(AlterClientQuotasRequest(entries=entries))).entries
    words = "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})"
    assert (told.error_code, told.error_message) == (42, words)
    assert await described(client) == []


async def test_of_a_type_that_is_named_twice_the_last_name_counts(client: Any) -> None:
    entity = [EntityData("user", "u"), EntityData("user", "v")]
    entries = [EntryDataRequest(entity, [OpData("producer_byte_rate", 5.0)])]
    (told,) = (await client.ask(AlterClientQuotasRequest(entries=entries))).entries
    assert (told.error_code, told.entity) == (0, [EntityData("user", "v")])
    assert await described(client) == [({"user": "v"}, {"producer_byte_rate": 5.0})]


async def test_a_host_counts_for_its_address(tmp_path: Path, connect: Any) -> None:
    """Also after a restart, when it is looked up again."""

    async def is_served(running: Any) -> bool:
        client = await connect(running)
        with trio.move_on_after(0.5):
            return (await client.ask(ALIVE, 3)).error_code == 0
        return False

    config = {"quota.window.num": "2"}
    async with broker(config, data_dir=tmp_path) as running:
        client = await connect(running)
        told = await alter(client, {"ip": "localhost"}, connection_creation_rate=1)
        assert told == (0, None)
        assert await described(client) == [({"ip": "localhost"}, {"connection_creation_rate": 1.0})]
        assert [await is_served(running) for _ in range(2)] == [True, False]
    async with broker(config, data_dir=tmp_path) as running:
        assert [await is_served(running) for _ in range(2)] == [True, False]


async def test_a_host_is_looked_up_again_after_it_had_no_address(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[Any] = []

    def getaddrinfo(*_: Any) -> list[Any]:
        if not addresses:
            raise socket.gaierror
        return addresses

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    told = await alter(client, {"ip": "later"}, connection_creation_rate=1)
    assert told == (42, "later is not a valid IP or resolvable host.")
    addresses.append((0, 0, 0, "", ("10.0.0.1", 0)))
    assert await alter(client, {"ip": "later"}, connection_creation_rate=1) == (0, None)


async def test_a_byte_rate_may_be_the_largest_long(client: Any) -> None:
    """The two are one number if they are doubles."""
    assert await alter(client, {"user": "u"}, producer_byte_rate=2.0**63) == (0, None)
    code, text = await alter(client, {"user": "u"}, producer_byte_rate=2.0**63 + 2048)
    assert (code, text) == (42, "Proposed value for producer_byte_rate is too large for a LONG.")
