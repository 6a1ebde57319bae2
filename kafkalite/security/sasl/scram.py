"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), with Kafka's `tokenauth` extension.

    state                  the client sends                    next
    CLIENT_FIRST           n,[a=authzid],n=user,r=nonce[,ext]  CLIENT_FINAL
    CLIENT_FINAL           c=biws,r=nonce,p=proof              COMPLETE
    any                    anything that is wrong              FAILED

Source: Kafka's ScramSaslServer, ScramMessages, ScramFormatter (KIP-84), and KIP-48 for tokens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

from kafkalite.security.sasl.mechanism import (
    SASL_NAME,
    BadCredentials,
    SaslFailure,
    check_authorization_id,
)
from kafkalite.wire.errors import ProtocolViolation

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
DEFAULT_ITERATIONS: Final = 4096
_NONCE_BITS: Final = 130
_NONCE_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SALT_BYTES: Final = 16


class ScramMechanism(Enum):
    """A mechanism: its number in messages and records, and its hash."""

    SCRAM_SHA_256 = (1, "SCRAM-SHA-256", "sha256")
    SCRAM_SHA_512 = (2, "SCRAM-SHA-512", "sha512")

    @property
    def number(self) -> int:
        """The number of the mechanism in messages and records."""
        return int(self.value[0])

    @property
    def title(self) -> str:
        """The name in SaslHandshake."""
        return str(self.value[1])

    @property
    def digest(self) -> str:
        """The name of its hash for hashlib."""
        return str(self.value[2])


MECHANISMS: Final = {mechanism.title: mechanism for mechanism in ScramMechanism}


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The keys kept for a user; the password cannot be had back from them."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Hi() of RFC 5802. Takes milliseconds."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """The credential that a salted password stands for."""
    client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.digest),
        iterations=iterations,
    )


def make_credential(
    mechanism: ScramMechanism,
    password: str,
    iterations: int = DEFAULT_ITERATIONS,
    salt: bytes | None = None,
) -> ScramCredential:
    """A credential for a password, with a random salt unless given."""
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_of(mechanism, salted, salt, iterations)


@dataclass(frozen=True, slots=True)
class TokenCredential:
    """A delegation token seen as a password; `expiry_ms` is since 1970."""

    owner: str
    expiry_ms: int
    credential: ScramCredential


class Credentials(Protocol):
    """Looks credentials up; None where there are none."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None: ...

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None: ...


class State(Enum):
    CLIENT_FIRST = "RECEIVE_CLIENT_FIRST_MESSAGE"
    CLIENT_FINAL = "RECEIVE_CLIENT_FINAL_MESSAGE"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    State.CLIENT_FIRST: frozenset({State.CLIENT_FINAL, State.FAILED}),
    State.CLIENT_FINAL: frozenset({State.COMPLETE, State.FAILED}),
    State.COMPLETE: frozenset({State.FAILED}),
    State.FAILED: frozenset({State.FAILED}),
}

_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{SASL_NAME}))?,)(?:m={_VALUE},)?"
    rf"(?P<bare>n=(?P<user>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)


class ScramServer:
    """One SCRAM conversation."""

    def __init__(self, mechanism: ScramMechanism, credentials: Credentials) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._state = State.CLIENT_FIRST
        self._credential: ScramCredential | None = None
        self._header = ""
        self._client_first = ""
        self._server_first = ""
        self._nonce = ""
        self.user = ""
        self.token_authenticated = False
        self.credential_expiry_ms: int | None = None

    @property
    def mechanism(self) -> str:
        return self._mechanism.title

    @property
    def is_complete(self) -> bool:
        return self._state is State.COMPLETE

    def evaluate(self, token: bytes) -> bytes:
        """Raises SaslFailure, BadCredentials; after that the conversation is over.

        Raises ProtocolViolation for a proof of another length, at which Kafka closes.
        """
        try:
            if self._state is State.CLIENT_FIRST:
                return self._first(token.decode(errors="replace"))
            if self._state is State.CLIENT_FINAL:
                return self._final(token.decode(errors="replace"))
            raise SaslFailure(f"Unexpected challenge in Sasl server state {self._state.value}")
        except (SaslFailure, BadCredentials):
            self._credential = None
            self._become(State.FAILED)
            raise

    def _become(self, state: State) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state} to {state}"
        self._state = state

    def _first(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise BadCredentials("Invalid SCRAM client first message format")
        name = match["user"].replace("=2C", ",").replace("=3D", "=")
        self._credential = self._look_up(name, _extensions(match["extensions"]))
        check_authorization_id(match["authzid"], name)
        if self._credential.iterations < MIN_ITERATIONS:
            raise BadCredentials(
                f"Iterations {self._credential.iterations} is less than the minimum "
                f"{MIN_ITERATIONS} for {self.mechanism}"
            )
        salt = base64.b64encode(self._credential.salt).decode()
        self._nonce = match["nonce"] + _new_nonce()
        # A mandatory extension (m=) is not signed for, so that the proof fails, as in Kafka.
        self._header, self._client_first = match["header"], match["bare"]
        self._server_first = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._become(State.CLIENT_FINAL)
        return self._server_first.encode()

    def _look_up(self, name: str, extensions: dict[str, str]) -> ScramCredential:
        if extensions.get("tokenauth", "").lower() == "true":
            token = self._credentials.token(self._mechanism, name)
            if token is None:
                raise BadCredentials("Token Authentication failed: Invalid tokenId")
            self.user, self.token_authenticated = token.owner, True
            self.credential_expiry_ms = token.expiry_ms
            return token.credential
        credential = self._credentials.scram(self._mechanism, name)
        if credential is None:
            raise BadCredentials("Authentication failed: Invalid user credentials")
        self.user = name
        return credential

    def _final(self, message: str) -> bytes:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise BadCredentials("Invalid SCRAM client final message format")
        if not hmac.compare_digest(match["nonce"], self._nonce):
            raise BadCredentials("Invalid client nonce in the final client message.")
        # RFC 5802 asks for this, Kafka leaves it out: the header may not change on the way.
        if base64.b64decode(match["channel"]) != self._header.encode():
            raise BadCredentials("Invalid channel binding in the final client message")
        assert self._credential is not None
        digest = self._mechanism.digest
        # Kafka leaves extensions of this message out of what is signed.
        without_proof = f"c={match['channel']},r={match['nonce']}"
        signed = f"{self._client_first},{self._server_first},{without_proof}".encode()
        proof = base64.b64decode(match["proof"])
        signature = hmac.digest(self._credential.stored_key, signed, digest)
        if len(proof) != len(signature):
            self._become(State.FAILED)
            raise ProtocolViolation(f"a proof of {len(proof)} bytes")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        computed = hashlib.new(digest, client_key).digest()
        if not hmac.compare_digest(computed, self._credential.stored_key):
            raise BadCredentials("Invalid client credentials")
        server_signature = hmac.digest(self._credential.server_key, signed, digest)
        self._credential = None
        self._become(State.COMPLETE)
        return b"v=" + base64.b64encode(server_signature)


def _new_nonce() -> str:
    """A number in base 36 (ScramFormatter.secureRandomString)."""
    number, digits = secrets.randbits(_NONCE_BITS), ""
    while number or not digits:
        number, digit = divmod(number, len(_NONCE_DIGITS))
        digits = _NONCE_DIGITS[digit] + digits
    return digits


def _extensions(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key: value for key, _, value in pairs}
