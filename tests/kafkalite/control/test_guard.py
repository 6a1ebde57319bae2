"""Tokens differ and are long; only names of this machine are loopback."""

from __future__ import annotations

import re

from kafkalite.control.guard import LOOPBACK, new_token


def test_a_token_has_256_bits_and_fits_a_header_and_a_command_line() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    for token in tokens:
        # With no dash: behind --token, a word that begins with one would be a flag.
        assert re.fullmatch("[0-9a-f]{64}", token)


def test_no_address_of_another_machine_is_loopback() -> None:
    assert frozenset({"localhost", "127.0.0.1", "::1"}) == LOOPBACK
