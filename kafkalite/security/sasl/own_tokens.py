"""The OAUTHBEARER tokens with which a broker logs in at other nodes.

    unsecured   made here of the login module's options, for tests (KIP-255)
    a file      with a token that others keep fresh
    a URL       of the identity provider, asked by client credentials (KIP-768)

Source: OAuthBearerUnsecuredLoginCallbackHandler, FileJwtRetriever.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.token_endpoint import TokenEndpoint

_CLAIM: Final = "unsecuredLogin{}Claim_"


@dataclass(frozen=True, slots=True)
class RefreshWindow:
    """The time at which a token is renewed: `sasl.login.refresh.*`, in seconds or shares of a life.

    Source: ExpiringCredentialRefreshingLogin.refreshMs.
    """

    factor: float = 0.8
    jitter: float = 0.05
    min_period: float = 60.0
    buffer: float = 300.0

    def time(self, start: float, end: float) -> float:
        """The time to renew a token that came at `start`, in seconds since 1970."""
        share = self.factor + self.jitter * random.random()
        proposed = start + (end - start) * share
        if start + self.min_period + self.buffer > end:
            return proposed  # there is no room for either
        return max(min(proposed, end - self.buffer), start + self.min_period)


def unsecured_token(options: Mapping[str, str], now: Callable[[], float] = time.time) -> str:
    """A token without a signature, with the claims of `unsecuredLogin...` options.

    Raises SaslFailure: the options do not name a principal, or a number is not one.
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


class EndpointTokens:
    """Tokens of an identity provider. One is kept until most of its life is over."""

    def __init__(
        self,
        endpoint: TokenEndpoint,
        refresh: RefreshWindow | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint = endpoint
        self._refresh = refresh or RefreshWindow()
        self._now = now
        # Connections log in by threads.
        self._lock = Lock()
        self._token = ""
        self._renew_at = 0.0

    def __call__(self) -> str:
        """A token; waits for the network if a new one is needed. Raises SaslFailure."""
        with self._lock:
            if self._now() >= self._renew_at:
                self._token = self._endpoint.fetch()
                self._renew_at = self._refresh.time(self._now(), _expiry(self._token))
            return self._token


def _expiry(token: str) -> float:
    """The `exp` of a token, in seconds since 1970. Raises SaslFailure."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return float(cast("dict[str, Any]", claims)["exp"])
    except (IndexError, ValueError, KeyError, TypeError, binascii.Error):
        raise SaslFailure("the identity provider's token is no JWT with an end") from None
