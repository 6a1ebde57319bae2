"""A JAAS file: the contexts of listeners, and the one of all others."""

from __future__ import annotations

from pathlib import Path

from kafkalite.security.jaas import PLAIN_MODULE
from kafkalite.security.jaas_file import JaasFile


def test_a_listener_has_its_own_context_or_that_of_all(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text(
        f'KafkaServer {{ {PLAIN_MODULE} required username="all"; }};\n'
        f'internal.KafkaServer {{ {PLAIN_MODULE} required username="own"; }};\n'
    )
    file = JaasFile(str(path))
    assert file.entries("INTERNAL")[PLAIN_MODULE].options == {"username": "own"}
    assert file.entries("OTHER")[PLAIN_MODULE].options == {"username": "all"}


def test_without_a_file_there_are_none() -> None:
    assert JaasFile(None).entries("INTERNAL") == {}
