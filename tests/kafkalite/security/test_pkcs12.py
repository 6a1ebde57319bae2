"""A PKCS12 store is unlocked here or by another process, with the same outcome."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.security.pkcs12 import unlock, unlock_apart
from tests.kafkalite.security.certificates import Authority


@pytest.fixture(scope="module")
def store() -> bytes:
    """A key and its certificate, locked by "secret"."""
    return Authority().server().pkcs12("secret")


def not_here(data: bytes, password: str | None) -> None:
    raise AssertionError("unlocked in this process")


def test_another_process_unlocks_it(
    store: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever lies in the working directory."""
    expected = unlock(store, "secret")
    assert expected.key is not None
    assert len(expected.certificates) == 1
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kafkalite.security.pkcs12.unlock", not_here)
    assert unlock_apart(store, "secret") == expected


@pytest.mark.parametrize(("data", "password"), [(None, "wrong"), (None, None), (b"no store", "x")])
def test_what_is_wrong_is_said_alike(
    store: bytes, data: bytes | None, password: str | None
) -> None:
    said: list[str] = []
    for each in (unlock, unlock_apart):
        with pytest.raises(ValueError, match=r".+") as raised:
            each(data or store, password)
        said.append(str(raised.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("executable", ["", "/nonexistent/python", "/bin/false", "/bin/true"])
def test_without_another_python_it_is_unlocked_here(
    store: bytes, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    assert unlock_apart(store, "secret") == unlock(store, "secret")


def test_a_program_that_is_no_python_is_not_run(
    store: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: object, **options: object) -> None:
        raise AssertionError("a process is started")

    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "run", run)
    assert unlock_apart(store, "secret") == unlock(store, "secret")


def test_one_that_takes_too_long_is_given_up(store: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalite.security.pkcs12._CHILD_SECONDS", 0.001)
    with pytest.raises(ValueError, match="not unlocked after"):
        unlock_apart(store, "secret")
