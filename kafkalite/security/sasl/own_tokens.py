"""The OAUTHBEARER tokens with which a broker logs in at other nodes.

    unsecured   made here of the login module's options, for tests (KIP-255)
    a file      with a token that others keep fresh
    a URL       of the identity provider, asked by client credentials (KIP-768)

Source: OAuthBearerUnsecuredLoginCallbackHandler, FileJwtRetriever, ClientCredentialsJwtRetriever.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast
from urllib.parse import urlencode

from kafkalite.security.sasl.mechanism import SaslFailure

_CLAIM: Final = "unsecuredLogin{}Claim_"
_TIMEOUT_SECONDS: Final = 10.0
_MAX_BYTES: Final = 1024 * 1024
# sasl.login.refresh.window.factor
_SHARE_OF_LIFE: Final = 0.8


def unsecured_token(options: Mapping[str, str], now: Callable[[], float] = time.time) -> str:
    """A token without a signature, with the claims of `unsecuredLogin...` options.

    Raises SaslFailure: the options do not name a principal, or a number is none.
    """
    try:
        lifetime = float(options.get("unsecuredLoginLifetimeSeconds", "3600"))
        claims: dict[str, object] = {"iat": now(), "exp": now() + lifetime}
        for name, text in options.items():
            for kind, value in (("String", str), ("Number", float), ("List", _items)):
                prefix = _CLAIM.format(kind)
                if name.startswith(prefix):
                    claims[name.removeprefix(prefix)] = value(text)
    except ValueError:
        raise SaslFailure("an unsecured token's lifetime and number claims are numbers") from None
    principal = options.get("unsecuredLoginPrincipalClaimName", "sub")
    if not isinstance(claims.get(principal), str):
        raise SaslFailure(f"the login module has no unsecuredLoginStringClaim_{principal}")
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _items(text: str) -> list[str]:
    """`,a,b`: the first character parts the others."""
    return [each for each in text[1:].split(text[0]) if each] if text else []


def _encoded(claims: Mapping[str, object]) -> str:
    text = json.dumps(claims, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def file_token(path: Path) -> str:
    """The token in a file. Raises SaslFailure."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SaslFailure(f"cannot read the token in {path}: {error}") from None


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """A client of an identity provider, at its token endpoint of http or https."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str | None = None


class EndpointTokens:
    """Tokens of an identity provider. One is kept until most of its life is over."""

    def __init__(
        self, credentials: ClientCredentials, now: Callable[[], float] = time.time
    ) -> None:
        self._credentials = credentials
        self._now = now
        # Connections log in by threads.
        self._lock = Lock()
        self._token = ""
        self._renew_at = 0.0

    def __call__(self) -> str:
        """A token; waits for the network if a new one is needed. Raises SaslFailure."""
        with self._lock:
            now = self._now()
            if now >= self._renew_at:
                self._token = self._fetched()
                self._renew_at = now + _SHARE_OF_LIFE * (_expiry(self._token) - now)
            return self._token

    def _fetched(self) -> str:
        asked = self._credentials
        fields = {"grant_type": "client_credentials"}
        if asked.scope is not None:
            fields["scope"] = asked.scope
        login = base64.b64encode(f"{asked.client_id}:{asked.secret}".encode()).decode()
        request = urllib.request.Request(
            asked.url,
            data=urlencode(fields).encode(),
            headers={"Authorization": f"Basic {login}", "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                found: Any = json.loads(answer.read(_MAX_BYTES))
            return str(found["access_token"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise SaslFailure(f"no token from {asked.url}: {reason}") from None


def _expiry(token: str) -> float:
    """The `exp` of a token, in seconds since 1970. Raises SaslFailure."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return float(cast("dict[str, Any]", claims)["exp"])
    except (IndexError, ValueError, KeyError, TypeError, binascii.Error):
        raise SaslFailure("the identity provider's token is no JWT with an end") from None
