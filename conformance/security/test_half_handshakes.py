"""A short run of half_handshakes.py. `make half-handshakes` has 10,000 of them."""

from __future__ import annotations

from pathlib import Path

from conformance.security.half_handshakes import run


def test_half_handshakes_are_noticed_by_no_other_client(tmp_path: Path) -> None:
    assert run(tmp_path / "broker", count=140, patience=120.0) == []
