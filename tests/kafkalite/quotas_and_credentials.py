"""Requests that change and describe quotas and SCRAM credentials."""

from __future__ import annotations

from typing import Any

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
from kafkalite.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

Entity = dict[str, str | None]


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
