"""AlterUserScramCredentials (key 51), version 0: set and delete SCRAM credentials (KIP-554).

The client sends the salted password; kept are the two keys made of it (RFC 5802), from which it
cannot be had back. A user may be changed once in a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import WaitingSteps, in_slices, release_dict, sized_batches
from kafkalite.security.sasl.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramMechanism,
    credential_of,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord

if TYPE_CHECKING:
    from kafkalite.services import Services

_MECHANISMS: Final = {mechanism.number: mechanism for mechanism in ScramMechanism}

_Change = ScramCredentialDeletion | ScramCredentialUpsertion


async def handle(
    services: Services, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    results = await in_slices(_alter_each(services, request), context)
    return AlterUserScramCredentialsResponse(results=results)


def _alter_each(
    services: Services, request: AlterUserScramCredentialsRequest
) -> WaitingSteps[list[AlterUserScramCredentialsResult]]:
    outcomes: dict[str, _Change | KafkaError] = {}
    changes: Iterator[_Change] = chain(request.deletions, request.upsertions)
    for change in changes:
        _check(services, outcomes, change)
        yield None
    results: list[AlterUserScramCredentialsResult] = []
    for some in sized_batches(outcomes.items(), lambda named: len(named[0])):
        yield from services.cluster.settling()
        records: list[object] = []
        for user, outcome in some:
            error = outcome if isinstance(outcome, KafkaError) else _failure(services, outcome)
            result = AlterUserScramCredentialsResult(
                user=user, error_code=ErrorCode.NONE, error_message=None
            )
            if error is not None:
                result.error_code, result.error_message = error.code, error.message
            elif isinstance(outcome, ScramCredentialUpsertion):
                records.append(_credential(outcome))
            elif isinstance(outcome, ScramCredentialDeletion):
                records.append(
                    RemoveUserScramCredentialRecord(name=user, mechanism=outcome.mechanism)
                )
            results.append(result)
        services.cluster.begin_write(records)
        yield from services.cluster.finishing()
        yield None
    yield from release_dict(outcomes)
    return results


def _check(services: Services, outcomes: dict[str, _Change | KafkaError], change: _Change) -> None:
    """Put the change, or what is wrong with it, among the outcomes (ScramControlManager)."""
    user = change.name
    if isinstance(outcomes.get(user), KafkaError):
        return  # the first thing wrong with a user is what is said
    if user in outcomes:
        outcomes[user] = KafkaError(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
        return
    error = None
    if not user:
        error = KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    elif change.mechanism not in _MECHANISMS:
        error = KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    elif isinstance(change, ScramCredentialUpsertion):
        if change.iterations < MIN_ITERATIONS:
            error = KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        elif change.iterations > MAX_ITERATIONS:
            error = KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    else:
        error = _missing(services, change)
    outcomes[user] = error or change


def _failure(services: Services, change: _Change) -> KafkaError | None:
    """The error that carrying out a change ends in."""
    if isinstance(change, ScramCredentialDeletion):
        return _missing(services, change)
    # Java has no key of no bytes, at which its HMAC fails.
    return None if change.salted_password else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _missing(services: Services, change: ScramCredentialDeletion) -> KafkaError | None:
    """The error for a credential that is to be deleted, and does not exist."""
    if (change.name, change.mechanism) in services.cluster.image.scram_credentials:
        return None
    return KafkaError(
        ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    )


def _credential(change: ScramCredentialUpsertion) -> UserScramCredentialRecord:
    mechanism = _MECHANISMS[change.mechanism]
    kept = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=change.mechanism,
        salt=kept.salt,
        stored_key=kept.stored_key,
        server_key=kept.server_key,
        iterations=kept.iterations,
    )
