"""The token endpoint of an identity provider, asked by client credentials (KIP-768).

    sasl.login.connect.timeout.ms, sasl.login.read.timeout.ms
    sasl.login.retry.backoff.ms         the first wait after an error; each is twice the last
    sasl.login.retry.backoff.max.ms     the time after which it is not asked again

Source: ClientCredentialsJwtRetriever, HttpJwtRetriever, Retry.
"""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from kafkalite.security.sasl.mechanism import SaslFailure

_MAX_BYTES: Final = 1024 * 1024
# Kafka waits for ever unless told otherwise; then the broker would not join its cluster, silently.
_TIMEOUT_SECONDS: Final = 10.0
_SUCCESSES: Final = (200, 201)
# A mistake in the request, which asking again does not mend.
_FINAL: Final = frozenset({*range(400, 408), *range(409, 416), 501, 505})


@dataclass(frozen=True, slots=True)
class Patience:
    """The time an answer may take, and errors may last. In seconds."""

    connect: float = _TIMEOUT_SECONDS
    read: float = _TIMEOUT_SECONDS
    first_wait: float = 0.1
    longest: float = 10.0


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """A client of an identity provider, at its token endpoint of http or https."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str | None = None
    patience: Patience = Patience()

    def fetch(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> str:
        """A new token; asks again while errors may pass. Raises SaslFailure."""
        end = now() + self.patience.longest
        wait = self.patience.first_wait
        while True:
            try:
                answer = self._asked()
                break
            except (OSError, http.client.HTTPException) as error:
                pause = min(wait, end - now())
                if isinstance(error, _FinalError) or pause <= 0:
                    raise SaslFailure(f"no token from {self.url}: {error}") from None
            sleep(pause)
            wait *= 2
        try:
            found: Any = json.loads(answer)
            return str(found["access_token"])
        except (ValueError, KeyError, TypeError) as error:
            raise SaslFailure(f"no token from {self.url}: {error}") from None

    def _asked(self) -> bytes:
        """The body of an answer. Raises OSError, HTTPException."""
        fields = {"grant_type": "client_credentials"}
        if self.scope is not None:
            fields["scope"] = self.scope
        login = base64.b64encode(f"{self.client_id}:{self.secret}".encode()).decode()
        parts = urlsplit(self.url)
        is_tls = parts.scheme == "https"
        kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.patience.connect)
        try:
            connection.connect()
            connection.sock.settimeout(self.patience.read)
            connection.request(
                "POST",
                (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
                urlencode(fields),
                {
                    "Authorization": f"Basic {login}",
                    "Accept": "application/json",
                    "Cache-Control": "no-cache",
                    "Content-Type": "application/x-www-form-urlencoded",
                },
            )
            response = connection.getresponse()
            if response.status not in _SUCCESSES:
                kind_of_error = _FinalError if response.status in _FINAL else OSError
                raise kind_of_error(f"HTTP status {response.status}")
            return response.read(_MAX_BYTES)
        finally:
            connection.close()


class _FinalError(OSError):
    """Asking again would not help."""
