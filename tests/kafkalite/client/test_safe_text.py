"""Texts that cannot steer a terminal."""

from __future__ import annotations

from kafkalite.client.safe_text import safe


def test_text_cannot_steer_the_terminal() -> None:
    assert safe("a\x1b[31mb\nc\td\x00\x9b") == "a\\x1b[31mb\\nc\\td\\x00\\x9b"
    assert safe("grün ✓ 日本") == "grün ✓ 日本"
