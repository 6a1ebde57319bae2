"""Validators of OAUTHBEARER tokens: signed ones by keys of a JWKS, unsecured ones for tests.

Sources: Kafka's BrokerJwtValidator and ClaimValidationUtils (KIP-768), and
OAuthBearerUnsecuredValidatorCallbackHandler (KIP-255).
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from kafkalite.security.sasl.oauthbearer import AcceptedToken, InvalidToken

# The signatures that are taken: all asymmetric ones. `none` and shared secrets never are.
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip


class Keys(Protocol):
    """The public keys of the identity provider."""

    def find(self, key_id: str | None) -> Any | None:
        """The key with this id, as PyJWT wants it; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class SignedTokenRules:
    """The claims that a signed token must show; `sasl.oauthbearer.*`."""

    audiences: Collection[str] = ()
    issuer: str | None = None
    clock_skew_seconds: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"


class SignedTokens:
    """Validates tokens that are signed with one of `keys`."""

    def __init__(self, keys: Keys, rules: SignedTokenRules) -> None:
        self._keys = keys
        self._rules = rules

    def __call__(self, token: str) -> AcceptedToken:
        """Raises InvalidToken."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as error:
            raise InvalidToken(f"the token cannot be read: {error}") from None
        if header.get("alg") not in ALGORITHMS:
            raise InvalidToken("the token's algorithm is not allowed")
        key = self._keys.find(header.get("kid"))
        if key is None:
            raise InvalidToken("the token was signed with a key that is not known")
        rules = self._rules
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=list(rules.audiences) or None,
                issuer=rules.issuer,
                leeway=rules.clock_skew_seconds,
                options={
                    "require": ["exp", "iat"],
                    "verify_aud": bool(rules.audiences),
                    # A subject of another claim's name is checked below.
                    "verify_sub": False,
                },
            )
        except (jwt.InvalidTokenError, TypeError, ValueError) as error:
            raise InvalidToken(f"the token is not valid: {error}") from None
        _check_scopes(rules.scope_claim, claims.get(rules.scope_claim))
        subject = _checked_text(rules.subject_claim, claims.get(rules.subject_claim))
        return AcceptedToken(subject, int(claims["exp"]) * 1000)


def _check_scopes(claim: str, value: object) -> None:
    if isinstance(value, str):
        scopes: Sequence[object] = [value]
    else:
        scopes = cast("Sequence[object]", value) if isinstance(value, list) else ()
    names = [_checked_text(claim, scope) for scope in scopes]
    if len(set(names)) < len(names):
        raise InvalidToken(f"{claim} value must not contain duplicates")


def _checked_text(claim: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidToken(f"{claim} value must be a non-empty string")
    return value.strip()


@dataclass(frozen=True, slots=True)
class UnsecuredTokenRules:
    """The `unsecuredValidator*` options of the JAAS line."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: Sequence[str] = ()
    clock_skew_ms: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> UnsecuredTokenRules:
        """Raises ValueError for a clock skew that is no whole number, or negative."""

        def option(name: str, default: str) -> str:
            return options.get(f"unsecuredValidator{name}", "").strip() or default

        skew_text = option("AllowableClockSkewMs", "0")
        skew = int(skew_text)
        if skew < 0:
            raise ValueError(f"Allowable clock skew millis must not be negative: {skew_text}")
        return cls(
            principal_claim=option("PrincipalClaimName", "sub"),
            scope_claim=option("ScopeClaimName", "scope"),
            required_scopes=tuple(option("RequiredScope", "").split()),
            clock_skew_ms=skew,
        )


class UnsecuredTokens:
    """Validates tokens without a signature. Anybody can make one: for tests only."""

    def __init__(self, rules: UnsecuredTokenRules) -> None:
        self._rules = rules

    def __call__(self, token: str) -> AcceptedToken:
        """Raises InvalidToken."""
        rules = self._rules
        header, claims = _split_unsecured(token)
        if header.get("alg") != "none":
            raise InvalidToken("Unsecured JWS must have 'none' for an algorithm")
        expiry = _seconds(claims, "exp")
        if expiry is None:
            raise InvalidToken("No expiration time in JWT")
        user = claims.get(rules.principal_claim)
        if not isinstance(user, str) or not user.strip():
            raise InvalidToken(f"No principal name in JWT claim: {rules.principal_claim}")
        now_ms = time.time() * 1000
        issued = _seconds(claims, "iat")
        if issued is not None and issued * 1000 > now_ms + rules.clock_skew_ms:
            raise InvalidToken("The Issued At value was after the indicated time")
        if now_ms - rules.clock_skew_ms >= expiry * 1000:
            raise InvalidToken("The token has expired")
        if issued is not None and expiry <= issued:
            raise InvalidToken("The Expiration Time time was not after the Issued At time")
        scopes = _scopes_of(claims.get(rules.scope_claim))
        missing = [scope for scope in rules.required_scopes if scope not in scopes]
        if missing:
            raise InvalidToken(
                f"The token was missing a required scope ({missing[0]})",
                status="insufficient_scope",
                scope=f"[{', '.join(rules.required_scopes)}]",
            )
        return AcceptedToken(user, round(expiry * 1000))


def _split_unsecured(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    parts = token.split(".")
    if len(parts) != 3 or ".." in token:
        raise InvalidToken(
            "Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded "
            "values"
        )
    if parts[2]:
        raise InvalidToken("Unsecured JWS must not contain a digital signature")
    return _json(parts[0]), _json(parts[1])


def _json(part: str) -> dict[str, Any]:
    try:
        value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidToken("malformed JSON or Base64 URL encoded value") from None
    if not isinstance(value, dict):
        raise InvalidToken("malformed JSON")
    return cast("dict[str, Any]", value)


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"The '{name}' claim was not of type Number")
    return float(value)


def _scopes_of(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset({value.strip()}) if value.strip() else frozenset()
    if isinstance(value, list):
        texts = (str(scope).strip() for scope in cast("list[object]", value))
        return frozenset(scope for scope in texts if scope)
    return frozenset()
