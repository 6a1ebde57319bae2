"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): one message with a token, checked by a validator.

    state      the client sends             answer                  next
    TOKEN      a token that is valid        empty                   COMPLETE
    TOKEN      a token that is not valid    {"status": ...}         REFUSED
    REFUSED    0x01                         failure with that text  FAILED
    REFUSED    a token                      as in TOKEN

Source: Kafka's OAuthBearerSaslServer and OAuthBearerClientInitialResponse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from kafkalite.security.sasl.mechanism import SASL_NAME, BadCredentials, SaslFailure
from kafkalite.wire.errors import ProtocolViolation

OAUTHBEARER: Final = "OAUTHBEARER"

_PAIRS: Final = r"(?:[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01)*"
_INITIAL: Final = re.compile(rf"n,(?:a=(?P<authzid>{SASL_NAME}))?,\x01(?P<pairs>{_PAIRS})\x01")
_AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_AFTER_REFUSAL: Final = b"\x01"


@dataclass(frozen=True, slots=True)
class AcceptedToken:
    """A valid token's claims that count: its principal, and its end in ms since 1970."""

    user: str
    expiry_ms: int


class InvalidToken(Exception):
    """A token is refused. `status` is for the client, the text for the log without the token."""

    def __init__(self, reason: str, *, status: str = "invalid_token", scope: str | None = None):
        super().__init__(reason)
        self.status = status
        self.scope = scope


class TokenValidator(Protocol):
    """Checks a token."""

    def __call__(self, token: str) -> AcceptedToken:
        """Raises InvalidToken."""
        ...


class State(Enum):
    TOKEN = "TOKEN"
    REFUSED = "REFUSED"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    State.TOKEN: frozenset({State.REFUSED, State.COMPLETE, State.FAILED}),
    State.REFUSED: frozenset({State.REFUSED, State.COMPLETE, State.FAILED}),
    State.COMPLETE: frozenset(),
    State.FAILED: frozenset(),
}


class OAuthBearerServer:
    """One OAUTHBEARER conversation."""

    def __init__(self, validate: TokenValidator) -> None:
        self.mechanism = OAUTHBEARER
        self.token_authenticated = False
        self._validate = validate
        self._state = State.TOKEN
        self._refusal = ""
        self.user = ""
        self.credential_expiry_ms: int | None = None

    @property
    def is_complete(self) -> bool:
        return self._state is State.COMPLETE

    def evaluate(self, token: bytes) -> bytes:
        """Raises SaslFailure, BadCredentials, ProtocolViolation."""
        if self._state is State.REFUSED and token == _AFTER_REFUSAL:
            self._become(State.FAILED)
            raise SaslFailure(self._refusal)
        try:
            authorization_id, bearer = _parse(token.decode(errors="replace"))
            accepted = self._validate(bearer)
        except InvalidToken as refused:
            scope = f', "scope":"{refused.scope}"' if refused.scope is not None else ""
            self._refusal = f'{{"status":"{refused.status}"{scope}}}'
            self._become(State.REFUSED)
            return self._refusal.encode()
        except (BadCredentials, ProtocolViolation):
            self._become(State.FAILED)
            raise
        if authorization_id not in ("", accepted.user):
            self._become(State.FAILED)
            raise SaslFailure(
                "Authentication failed: Client requested an authorization id "
                f"({authorization_id}) that is different from the token's principal name "
                f"({accepted.user})"
            )
        self.user, self.credential_expiry_ms = accepted.user, accepted.expiry_ms
        self._become(State.COMPLETE)
        return b""

    def _become(self, state: State) -> None:
        assert state in TRANSITIONS[self._state], f"{self._state} to {state}"
        self._state = state


def _parse(message: str) -> tuple[str, str]:
    """The authorization id, "" if there is none, and the token.

    Raises BadCredentials; ProtocolViolation for another scheme, at which Kafka closes.
    """
    match = _INITIAL.fullmatch(message)
    if match is None:
        raise BadCredentials("Invalid OAUTHBEARER client first message")
    pairs = (pair.partition("=") for pair in match["pairs"].split("\x01") if pair)
    auth = {key: value for key, _, value in pairs}.get("auth")
    if auth is None:
        raise BadCredentials("Invalid OAUTHBEARER client first message: 'auth' not specified")
    bearer = _AUTH.fullmatch(auth)
    if bearer is None:
        raise BadCredentials("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if bearer["scheme"].lower() != "bearer":
        raise ProtocolViolation("Invalid scheme in OAUTHBEARER client first message")
    return match["authzid"] or "", bearer["token"]
