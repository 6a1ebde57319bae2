"""Delegation tokens (KIP-48, KIP-373, KIP-900): made, renewed, ended, and used as passwords.

A token is a record in the metadata. Its secret, the HMAC of its id with
`delegation.token.secret.key`, is nowhere kept: it is computed when it is asked for. A client that
logs in with it uses SCRAM, where the id is the user and the HMAC in base64 the password.

Source: Kafka's DelegationTokenControlManager, DelegationTokenManager, DelegationTokenCache.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID, uuid4

from kafkalite.requests.principal import ANONYMOUS, Principal, parse_principal
from kafkalite.requests.slices import Steps
from kafkalite.security.sasl.scram import (
    MIN_ITERATIONS,
    ScramMechanism,
    TokenCredential,
    make_credential,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.kafka_uuid import new_kafka_uuid
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)

_MAX_LONG: Final = 2**63 - 1
_DIGEST: Final = "sha512"
# Records written in one go for tokens that have ended.
MAX_EXPIRED_AT_ONCE: Final = 1000
# Tokens that are looked at in one step: each takes some microseconds the first time.
_LOOKED_AT_ONCE: Final = 128
# A time that there is not.
NO_TIME: Final = -1
# The versions of CreateDelegationToken and DescribeDelegationToken that name who asked (KIP-373).
REQUESTER_SINCE: Final = 3

Tokens = Mapping[str, DelegationTokenRecord]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """`delegation.token.*`; without a secret there are no tokens. Times in milliseconds."""

    secret: str | None = field(default=None, repr=False)
    max_lifetime_ms: int = 604_800_000
    renew_lifetime_ms: int = 86_400_000


class DelegationTokens:
    """All that is done with tokens. `tokens` is the metadata's, by token id."""

    def __init__(self, rules: TokenRules, tokens: Callable[[], Tokens]) -> None:
        self._rules = rules
        self._tokens = tokens
        self._hmacs: dict[str, bytes] = {}
        self._credentials: dict[tuple[str, ScramMechanism], TokenCredential] = {}

    @property
    def is_enabled(self) -> bool:
        """True if there is a secret."""
        return bool(self._rules.secret)

    def hmac_of(self, token_id: str) -> bytes:
        """A token's secret."""
        found = self._hmacs.get(token_id)
        if found is None:
            secret = (self._rules.secret or "").encode()
            found = self._hmacs[token_id] = hmac.digest(secret, token_id.encode(), _DIGEST)
        return found

    def create(
        self,
        owner: Principal,
        requester: Principal,
        renewers: Sequence[Principal],
        max_lifetime_ms: int,
        now_ms: int,
        new_uuid: Callable[[], UUID] = uuid4,
    ) -> DelegationTokenRecord:
        """The record of a new token. `max_lifetime_ms` of 0 or less is the longest.

        Raises KafkaError(DELEGATION_TOKEN_AUTH_DISABLED).
        """
        self._check_enabled()
        lifetime_ms = self._rules.max_lifetime_ms
        if max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, max_lifetime_ms)
        max_timestamp = _sum(now_ms, lifetime_ms)
        return DelegationTokenRecord(
            owner=str(owner),
            requester=str(requester),
            renewers=[str(renewer) for renewer in renewers],
            issue_timestamp=now_ms,
            max_timestamp=max_timestamp,
            expiration_timestamp=min(max_timestamp, _sum(now_ms, self._rules.renew_lifetime_ms)),
            token_id=new_kafka_uuid(new_uuid),
        )

    def found(self, secret: bytes) -> Steps[str]:
        """The id of the token with this secret, all looked at in steps. Raises KafkaError."""
        self._check_enabled()
        found: str | None = None
        for number, token_id in enumerate(list(self._tokens()), 1):
            if hmac.compare_digest(self.hmac_of(token_id), secret):
                found = token_id
            if number % _LOOKED_AT_ONCE == 0:
                yield
        if found is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return found

    def renew(
        self, token_id: str, principal: Principal, period_ms: int, now_ms: int
    ) -> DelegationTokenRecord:
        """The record that replaces a token's. Raises KafkaError."""
        token = self._token(token_id)
        if _has_ended(token, now_ms):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        _check_may_renew(token, principal)
        lifetime_ms = self._rules.renew_lifetime_ms
        if period_ms > 0:
            lifetime_ms = min(lifetime_ms, period_ms)
        expiry = min(token.max_timestamp, _sum(now_ms, lifetime_ms))
        return replace(token, expiration_timestamp=expiry)

    def expire(
        self, token_id: str, principal: Principal, period_ms: int, now_ms: int
    ) -> DelegationTokenRecord | RemoveDelegationTokenRecord:
        """The record that ends a token after `period_ms`, at once if that is negative.

        Raises KafkaError.
        """
        token = self._token(token_id)
        _check_may_renew(token, principal)
        if period_ms < 0:
            return RemoveDelegationTokenRecord(token_id=token.token_id)
        if _has_ended(token, now_ms):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        expiry = min(token.max_timestamp, _sum(now_ms, period_ms))
        return replace(token, expiration_timestamp=expiry)

    def expired(self, now_ms: int) -> list[RemoveDelegationTokenRecord]:
        """The records that remove tokens that have ended; at most a thousand at once."""
        ended = [
            RemoveDelegationTokenRecord(token_id=token.token_id)
            for token in self._tokens().values()
            if _has_ended(token, now_ms)
        ]
        return ended[:MAX_EXPIRED_AT_ONCE]

    def forget(self, token_id: str) -> None:
        """Drop what was computed of a token that has changed or gone."""
        self._hmacs.pop(token_id, None)
        for mechanism in ScramMechanism:
            self._credentials.pop((token_id, mechanism), None)

    def credential(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        """A token seen as a user with a password; takes milliseconds the first time."""
        token = self._tokens().get(token_id) if self.is_enabled else None
        if token is None:
            return None
        found = self._credentials.get((token_id, mechanism))
        if found is None or found.expiry_ms != token.expiration_timestamp:
            password = base64.b64encode(self.hmac_of(token_id)).decode()
            owner = parse_principal(token.owner)
            found = self._credentials[token_id, mechanism] = TokenCredential(
                owner.name,
                token.expiration_timestamp,
                make_credential(mechanism, password, MIN_ITERATIONS),
            )
        return found

    def _check_enabled(self) -> None:
        if not self.is_enabled:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)

    def _token(self, token_id: str) -> DelegationTokenRecord:
        token = self._tokens().get(token_id)
        if token is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token


def are_token_requests_allowed(principal: Principal, security_protocol: str) -> bool:
    """True if a client may ask for tokens at all: it says who it is, and not by a token."""
    if principal.token_authenticated or security_protocol == "PLAINTEXT":
        return False
    return security_protocol != "SSL" or principal != ANONYMOUS


def owner_of(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """The owner of the requested token: the requester, unless it names another."""
    if not request.owner_principal_name:
        return requester
    return Principal(request.owner_principal_type or "", request.owner_principal_name)


def is_owner_or_renewer(token: DelegationTokenRecord, principal: Principal) -> bool:
    """True if a principal may see and renew a token; who requested it may, too."""
    name = str(principal)
    return name in (token.owner, token.requester) or name in token.renewers


def _check_may_renew(token: DelegationTokenRecord, principal: Principal) -> None:
    if str(principal) != token.owner and str(principal) not in token.renewers:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _has_ended(token: DelegationTokenRecord, now_ms: int) -> bool:
    return token.max_timestamp < now_ms or token.expiration_timestamp < now_ms


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, _MAX_LONG)
