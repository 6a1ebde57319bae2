"""All SASL mechanisms take tokens, give tokens, and have two ways to fail.

A mechanism is one conversation. The client is told the message of a `SaslFailure`. That
of `BadCredentials` goes to the log alone, since it may say whether a user exists
(Kafka's SaslAuthenticationException and SaslException).
"""

from __future__ import annotations

from typing import Final, Protocol

# A name in the grammars of SCRAM and OAUTHBEARER (RFC 5802).
SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"


class SaslFailure(Exception):
    """Authentication failed; its text is for the client."""


class BadCredentials(Exception):
    """Authentication failed; its text is for the log, and never holds a secret."""


def check_authorization_id(authorization_id: str | None, user: str) -> None:
    """Refuse a user who would act as another one. Raises SaslFailure."""
    if authorization_id and authorization_id != user:
        raise SaslFailure(
            "Authentication failed: Client requested an authorization id that is different from "
            "username"
        )


class SaslServer(Protocol):
    """One conversation with one client."""

    @property
    def mechanism(self) -> str:
        """The name, such as PLAIN."""
        ...

    @property
    def is_complete(self) -> bool:
        """True if the client is authenticated."""
        ...

    @property
    def user(self) -> str:
        """The name of the authenticated user; only to be asked when complete."""
        ...

    @property
    def token_authenticated(self) -> bool:
        """True if a delegation token stood in for a password."""
        ...

    @property
    def credential_expiry_ms(self) -> int | None:
        """The end of the credential, in milliseconds since 1970; None if there is none."""
        ...

    def evaluate(self, token: bytes) -> bytes:
        """The answer to the client's next token. Raises SaslFailure, BadCredentials."""
        ...
