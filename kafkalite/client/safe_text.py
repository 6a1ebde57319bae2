"""Texts of clients on a terminal: names, keys and values hold what a client likes."""

from __future__ import annotations


def safe(text: str) -> str:
    """Text that cannot steer a terminal: control characters are shown as \\xNN."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or f"\\x{ord(character):02x}"
