"""PLAIN (RFC 4616): a user's name and password in one message.

Source: Kafka's PlainSaslServer and PlainServerCallbackHandler.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final, Protocol

from kafkalite.security.sasl.mechanism import SaslFailure, check_authorization_id

PLAIN: Final = "PLAIN"
_USER_OPTION: Final = "user_"


class PasswordCheck(Protocol):
    """True if a password is the user's."""

    def __call__(self, user: str, password: str) -> bool: ...


def passwords_of(options: Mapping[str, str]) -> PasswordCheck:
    """A check against the `user_<name>` options of a JAAS line, in constant time."""

    def check(user: str, password: str) -> bool:
        expected = options.get(_USER_OPTION + user)
        # An unknown user costs the same comparison as a known one.
        other = password if expected is None else expected
        is_same = hmac.compare_digest(other.encode(), password.encode())
        return is_same and expected is not None

    return check


class PlainServer:
    """One PLAIN conversation: a single message decides."""

    def __init__(self, is_password: PasswordCheck) -> None:
        self.mechanism = PLAIN
        self.token_authenticated = False
        self.credential_expiry_ms: int | None = None
        self._is_password = is_password
        self.user = ""
        self.is_complete = False

    def evaluate(self, token: bytes) -> bytes:
        """`[authzid] NUL user NUL password`. Raises SaslFailure."""
        parts = token.decode(errors="replace").split("\0", 3)
        if len(parts) != 3:
            raise SaslFailure(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise SaslFailure("Authentication failed: username not specified")
        if not password:
            raise SaslFailure("Authentication failed: password not specified")
        if not self._is_password(user, password):
            raise SaslFailure("Authentication failed: Invalid username or password")
        check_authorization_id(authorization_id, user)
        self.user, self.is_complete = user, True
        return b""
