"""Principals: the user a connection acts for (Kafka's KafkaPrincipal and SecurityUtils)."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

USER_TYPE: Final = "User"


class Principal(Struct, frozen=True):
    """A type and a name, written `User:alice`.

    `token_authenticated` says that a delegation token stood in for the password. It does not
    take part in comparison, as in Kafka.
    """

    type: str
    name: str
    token_authenticated: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Principal):
            return NotImplemented
        return (self.type, self.name) == (other.type, other.name)

    def __hash__(self) -> int:
        return hash((self.type, self.name))


ANONYMOUS: Final = Principal(USER_TYPE, "ANONYMOUS")


def parse_principal(text: str) -> Principal:
    """`Type:name` as a Principal. Raises ValueError with Kafka's words."""
    kind, colon, name = text.partition(":")
    if not text or not colon:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return Principal(kind, name)
