"""Validators of OAUTHBEARER tokens: signed ones by keys of a JWKS, unsecured ones for tests.

Sources: Kafka's BrokerJwtValidator and ClaimValidationUtils (KIP-768), and
OAuthBearerUnsecuredValidatorCallbackHandler (KIP-255).
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NoReturn, Protocol, cast

from kafkalite.config import java_text
from kafkalite.security.sasl.oauthbearer import AcceptedToken, InvalidToken
from kafkalite.wire.errors import ProtocolViolation

# The signatures that are accepted: all asymmetric ones, neither `none` nor shared secrets.
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip

_MAX_LONG: Final = 2**63 - 1


class Keys(Protocol):
    """The public keys of the identity provider."""

    def find(self, key_id: str | None, algorithm: str) -> Any | None:
        """The key with this id for this algorithm, as PyJWT wants it; None if there is none."""
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
        """Raises InvalidToken, ProtocolViolation."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as error:
            raise InvalidToken(f"the token cannot be read: {error}") from None
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise InvalidToken("the token's algorithm is not allowed")
        if str(header.get("cty", "")).lower() in ("jwt", "application/jwt"):
            raise InvalidToken("the token holds another one")
        key = self._keys.find(header.get("kid"), algorithm)
        if key is None:
            raise InvalidToken("the token was signed with a key that is not known")
        rules = self._rules
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=list(rules.audiences) or None,
                issuer=rules.issuer,
                leeway=rules.clock_skew_seconds,
                options={
                    "require": ["exp", "iat"],
                    # Kafka lets a token begin whenever it likes. What else these say: below.
                    "verify_iat": False,
                    "verify_sub": False,
                },
            )
            if "aud" in claims and not rules.audiences:
                raise ValueError("it is for an audience, and none is expected")
            if not isinstance(claims.get("iss", ""), str):
                raise TypeError("the iss claim is no text")
            expiry_ms = _milliseconds(_checked_times(claims))
        except (jwt.InvalidTokenError, TypeError, ValueError, ArithmeticError) as error:
            raise InvalidToken(f"the token is not valid: {error}") from None
        subject = claims.get(rules.subject_claim)
        if subject is not None and not isinstance(subject, str):
            raise InvalidToken(f"{rules.subject_claim} value must be a string")
        _check_scopes(rules.scope_claim, claims.get(rules.scope_claim))
        return AcceptedToken(_checked_text(rules.subject_claim, subject), expiry_ms)


def _checked_times(claims: Mapping[str, Any]) -> int:
    """The end of a token. Raises TypeError for times that are no numbers, ValueError."""
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"the {name} claim is no number")
    expiry, issued = int(claims["exp"]), int(claims["iat"])
    if issued < 0:
        raise ValueError("the iat claim is negative")
    if expiry < max(issued, int(claims.get("nbf", expiry))):
        raise ValueError("the exp claim is before the iat or nbf claim")
    return expiry


def _check_scopes(claim: str, value: object) -> None:
    if isinstance(value, str):
        scopes: Sequence[object] = [value]
    else:
        scopes = cast("Sequence[object]", value) if isinstance(value, list) else ()
    names: set[str] = set()
    for scope in scopes:
        if scope is not None and not isinstance(scope, str):
            raise ProtocolViolation("a scope of the token is no text")  # Kafka closes, too
        name = _checked_text(claim, scope)
        if name in names:
            raise InvalidToken(f"{claim} value must not contain duplicates")
        names.add(name)


def _checked_text(claim: str, value: object) -> str:
    name = java_text.trim(value) if isinstance(value, str) else ""
    if not name:
        raise InvalidToken(f"{claim} value must be a non-empty string")
    return _encodable(name)


def _encodable(name: str) -> str:
    """A name as it can be written; JSON's escapes make texts that cannot, as half a pair."""
    return name.encode(errors="replace").decode()


def _milliseconds(seconds: float) -> int:
    """The same time in a LONG; Java rounds what is beyond it to its end."""
    return round(min(max(seconds * 1000, -_MAX_LONG), _MAX_LONG))


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
        """Raises InvalidToken, ProtocolViolation."""
        rules = self._rules
        claims = _unsecured_claims(token)
        expiry = _seconds(claims, "exp")
        if expiry is None:
            raise InvalidToken("No expiration time in JWT")
        user = claims.get(rules.principal_claim)
        if not isinstance(user, str) or not java_text.trim(user):
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
        return AcceptedToken(_encodable(user), _milliseconds(expiry))


def _unsecured_claims(token: str) -> dict[str, Claim]:
    """Raises InvalidToken, ProtocolViolation."""
    parts = token.split(".")
    if len(parts) != 3 or ".." in token:
        raise InvalidToken(
            "Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded "
            "values"
        )
    header, claims = _members(parts[0]), _members(parts[1])
    if "alg" not in header:
        raise ProtocolViolation("a token without an algorithm")  # Kafka closes, too
    if header["alg"] != "none":
        raise InvalidToken("Unsecured JWS must have 'none' for an algorithm")
    if parts[2]:
        raise InvalidToken("Unsecured JWS must not contain a digital signature")
    return claims


def _members(part: str) -> dict[str, Claim]:
    """The members of a JSON object; none where there is another value, or nothing.

    As for Kafka what follows the value does not count. Raises InvalidToken.
    """
    if _BASE64_URL.fullmatch(part) is None or len(part) % 4 == 1:
        raise InvalidToken("malformed Base64 URL encoded value")
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass").lstrip(_JSON_BLANKS)
        value = _JSON.raw_decode(text)[0] if text else None
    except (ValueError, RecursionError):
        raise InvalidToken("malformed JSON") from None
    if not isinstance(value, dict):
        return {}
    return {name: _claim(each) for name, each in cast("dict[str, object]", value).items()}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is Python's alone")


_JSON: Final = json.JSONDecoder(parse_constant=_no_constant)
_JSON_BLANKS: Final = " \t\r\n"
_BASE64_URL: Final = re.compile(r"[A-Za-z0-9_-]*")
# A claim is a text, a number, or a list of texts.
Claim = str | int | float | list[str]


def _claim(value: object) -> Claim:
    if isinstance(value, list):
        return [_text(each) for each in cast("list[object]", value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return _text(value)


def _text(value: object) -> str:
    """A JSON value as Kafka has it where it wants a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return ""
    if isinstance(value, float):
        return java_text.format_double(value)
    return json.dumps(value)


def _seconds(claims: Mapping[str, Claim], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, str | list):
        raise InvalidToken(f"The '{name}' claim was not of type Number")
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _scopes_of(value: Claim | None) -> frozenset[str]:
    """Raises InvalidToken."""
    if value is None:
        return frozenset()
    if isinstance(value, int | float):
        raise InvalidToken("The scope claim was not of type List")
    scopes = [value] if isinstance(value, str) else value
    return frozenset(name for scope in scopes if (name := java_text.trim(scope)))
