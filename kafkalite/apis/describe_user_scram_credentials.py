"""DescribeUserScramCredentials (key 50), version 0: who has SCRAM credentials (KIP-554).

Mechanism and iterations are told, salt and keys never. `users` null or empty means all.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import briefly_or_in_slices, counted, mapped
from kafkalite.security.sasl.scram import ScramMechanism
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    credentials = services.cluster.image.scram_credentials
    if request.users:
        names = counted(user.name for user in request.users)
        users = await briefly_or_in_slices(names, context)
    else:
        users = Counter({name for name, _ in credentials})
    results = await briefly_or_in_slices(
        mapped(partial(_describe, services), users.items()), context
    )
    return DescribeUserScramCredentialsResponse(error_code=ErrorCode.NONE, results=results)


def _describe(services: Services, named: tuple[str, int]) -> DescribeUserScramCredentialsResult:
    user, count = named
    if count > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message="Cannot describe SCRAM credentials for the same user twice in a single "
            f"request: {user}",
        )
    credentials = services.cluster.image.scram_credentials
    infos = [
        CredentialInfo(mechanism=mechanism.number, iterations=found.iterations)
        for mechanism in ScramMechanism
        if (found := credentials.get((user, mechanism.number))) is not None
    ]
    if not infos:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return DescribeUserScramCredentialsResult(
        user=user, error_code=ErrorCode.NONE, credential_infos=infos
    )
