"""Tokens of the control port, and the names it may be called by."""

from __future__ import annotations

import secrets
from typing import Final

_TOKEN_BYTES: Final = 32
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def new_token() -> str:
    """A token that cannot be guessed."""
    # A word that begins with a dash is a flag where it is given by hand.
    return secrets.token_hex(_TOKEN_BYTES)
