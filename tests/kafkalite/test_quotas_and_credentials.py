"""Quotas, SCRAM credentials and features: stored, described, kept over a restart."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

Entity = dict[str, str | None]
EXACT, DEFAULT, SPECIFIED = range(3)


async def alter(
    client: Any, entity: Entity, version: int = 1, validate_only: bool = False, **ops: float | None
) -> tuple[int, str | None]:
    entry = EntryDataRequest(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0, remove=value is None) for key, value in ops.items()],
    )
    request = AlterClientQuotasRequest(entries=[entry], validate_only=validate_only)
    answer = await client.ask(request, version)
    return answer.entries[0].error_code, answer.entries[0].error_message


async def described(
    client: Any, *filters: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> list[tuple[Entity, dict[str, float]]]:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in filters
        ],
        strict=strict,
    )
    answer = await client.ask(request, version)
    assert answer.error_code == 0
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries
    ]


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


async def test_quotas_and_credentials_are_there_after_a_restart(
    tmp_path: Path, connect: Any
) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        await alter(client, {"user": "u"}, producer_byte_rate=5.0, request_percentage=0.5)
        await alter(client, {"user": "u"}, request_percentage=None)
        assert await change(client, upsert("u"), upsert("v", 2)) == {"u": 0, "v": 0}
        assert await change(client, gone={"v": 2}) == {"v": 0}
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        assert await described(client) == [({"user": "u"}, {"producer_byte_rate": 5.0})]
        assert await users(client) == {"u": [(1, 4096)]}


def upsert(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"salted",
    )


async def change(
    client: Any, *upsertions: ScramCredentialUpsertion, gone: dict[str, int] | None = None
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name=name, mechanism=mechanism)
            for name, mechanism in (gone or {}).items()
        ],
        upsertions=list(upsertions),
    )
    answer = await client.ask(request)
    return {result.user: result.error_code for result in answer.results}


async def users(client: Any, *names: str) -> dict[str, Any]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
    answer = await client.ask(request)
    return {
        result.user: result.error_code
        or [(info.mechanism, info.iterations) for info in result.credential_infos]
        for result in answer.results
    }


async def test_credentials(broker: test_broker, client: Any) -> None:
    told = await change(
        client,
        upsert("good", iterations=5000),
        upsert("too-few", iterations=4095),
        upsert("too-many", iterations=16385),
        upsert("unknown-mechanism", 3),
        upsert(""),
        upsert("twice"),
        upsert("twice", 2),
        gone={"nobody": 1},
    )
    assert told == {
        "good": 0,
        "too-few": 93,
        "too-many": 93,
        "unknown-mechanism": 33,
        "": 93,
        "twice": 92,
        "nobody": 91,
    }
    assert await users(client) == {"good": [(1, 5000)]}
    assert await users(client, "good", "nobody") == {"good": [(1, 5000)], "nobody": 91}
    assert await users(client, "good", "good") == {"good": 92}


async def test_what_is_kept_is_not_the_password(broker: test_broker, client: Any) -> None:
    """RFC 5802: StoredKey = H(HMAC(SaltedPassword, "Client Key")), and ServerKey likewise."""
    for mechanism, digest in ((1, "sha256"), (2, "sha512")):
        await change(client, upsert("u", mechanism))
        kept = broker._running.services.cluster.image.scram_credentials["u", mechanism]
        client_key = hmac.new(b"salted", b"Client Key", digest).digest()
        assert kept.stored_key == hashlib.new(digest, client_key).digest()
        assert kept.server_key == hmac.new(b"salted", b"Server Key", digest).digest()
        assert b"salted" not in (kept.stored_key, kept.server_key)


async def update(
    client: Any, feature: str, level: int, kind: int, version: int = 2, **options: Any
) -> int:
    change = FeatureUpdateKey(
        feature=feature,
        max_version_level=level,
        upgrade_type=kind,
        allow_downgrade=options.pop("allow_downgrade", False),
    )
    request = UpdateFeaturesRequest(feature_updates=[change], **options)
    answer = await client.ask(request, version)
    code: int = answer.error_code
    return code


async def test_features(client: Any) -> None:
    async def level() -> int | None:
        answer = await client.ask(
            ApiVersionsRequest(client_software_name="a", client_software_version="1")
        )
        levels = {item.name: item.max_version_level for item in answer.finalized_features}
        return levels.get("group.version")

    assert await level() == 1
    assert await update(client, "group.version", 0, 1) == 95
    assert await update(client, "group.version", 0, 2, validate_only=True) == 0
    assert await level() == 1
    assert await update(client, "group.version", 0, 2) == 0
    assert await level() is None
    assert await update(client, "group.version", 1, 2) == 95
    assert await update(client, "group.version", 1, 1) == 0
    assert await level() == 1
    # Kafka's brokers pass v0 on to the controller in a version without allow_downgrade.
    assert await update(client, "group.version", 0, 1, version=0, allow_downgrade=True) == 95
    assert await update(client, "group.version", 2, 1) == 95
    assert await update(client, "nosuch", 1, 1) == 95
    assert await update(client, "metadata.version", 29, 2) == 95
