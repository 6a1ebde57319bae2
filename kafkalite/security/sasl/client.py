"""The clients of the SASL mechanisms, for a broker that logs in at another node.

A client is one conversation: `first` is what it says first, `answer` what it says to what the other
side said; None when both are done. Source: PlainSaslClient, ScramSaslClient, OAuthBearerSaslClient.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.oauthbearer import OAUTHBEARER
from kafkalite.security.sasl.plain import PLAIN
from kafkalite.security.sasl.scram import MIN_ITERATIONS, ScramMechanism, salted_password

_NONCE_BYTES: Final = 16
_SERVER_FIRST: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[a-zA-Z0-9/+=]+),i=(?P<iterations>[0-9]+)"
)
# Tells that nothing more comes, after a refusal (RFC 7628).
_UNDERSTOOD: Final = b"\x01"


class SaslClient(Protocol):
    """One conversation with one server. Its methods may wait for a disk or a network."""

    @property
    def mechanism(self) -> str:
        """The name, such as PLAIN."""
        ...

    def first(self) -> bytes:
        """The first message. Raises SaslFailure."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """The next message; None: there is nothing more to say. Raises SaslFailure."""
        ...


class PlainClient:
    """PLAIN: the user's name and password at once."""

    mechanism = PLAIN

    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def first(self) -> bytes:
        """User and password."""
        return self._message

    def answer(self, challenge: bytes) -> None:
        """The server has said yes."""


class ScramClient:
    """SCRAM: each side proves that it knows the password, and neither says it.

    `options`: `username`, `password` and `tokenauth` of the login module.
    """

    def __init__(self, mechanism: ScramMechanism, options: Mapping[str, str]) -> None:
        self.mechanism = mechanism.title
        self._mechanism = mechanism
        self._password = options.get("password", "")
        self._nonce = secrets.token_urlsafe(_NONCE_BYTES)
        name = options.get("username", "").replace("=", "=3D").replace(",", "=2C")
        is_token = options.get("tokenauth", "").lower() == "true"
        self._bare = f"n={name},r={self._nonce}" + (",tokenauth=true" if is_token else "")
        self._expected: bytes | None = None

    def first(self) -> bytes:
        """The user's name and half of the nonce."""
        return f"n,,{self._bare}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """The proof; then the server's signature is checked. Raises SaslFailure."""
        text = challenge.decode(errors="replace")
        if self._expected is None:
            return self._proof(text)
        if not hmac.compare_digest(challenge, self._expected):
            raise SaslFailure("the server does not know the password")
        return None

    def _proof(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.match(server_first)
        if match is None or not match["nonce"].startswith(self._nonce):
            raise SaslFailure("Invalid SCRAM server first message")
        iterations = int(match["iterations"])
        if iterations < MIN_ITERATIONS:
            raise SaslFailure(f"{iterations} iterations are too few, {MIN_ITERATIONS} the fewest")
        mechanism, digest = self._mechanism, self._mechanism.digest
        salt = base64.b64decode(match["salt"])
        salted = salted_password(mechanism, self._password, salt, iterations)
        without_proof = f"c=biws,r={match['nonce']}"
        signed = f"{self._bare},{server_first},{without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", digest)
        stored_key = hashlib.new(digest, client_key).digest()
        signature = hmac.digest(stored_key, signed, digest)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", digest)
        self._expected = b"v=" + base64.b64encode(hmac.digest(server_key, signed, digest))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()


class OAuthBearerClient:
    """OAUTHBEARER: a token. `token` gives one, and raises SaslFailure."""

    mechanism = OAUTHBEARER

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def first(self) -> bytes:
        """The token."""
        return f"n,,\x01auth=Bearer {self._token()}\x01\x01".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """Nothing once the token is taken; a refusal is acknowledged, and the server hangs up."""
        return _UNDERSTOOD if challenge else None
