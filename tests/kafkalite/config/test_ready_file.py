"""Ready files: those of brokers that run, the newest first."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.config.ready_file import newest, own_path, remove, write


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def announced(tmp_path: Path, name: str, at: int, **ready: object) -> Path:
    path = tmp_path / "kafkalite" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    write({"bootstrap": "h:1", "pid": os.getpid(), **ready}, path)
    os.utime(path, (at, at))
    return path


def test_the_file_of_this_process(environment: dict[str, str], tmp_path: Path) -> None:
    path = own_path(environment)
    assert path == tmp_path / "kafkalite" / f"{os.getpid()}.json"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    write({"bootstrap": "h:1"}, path)
    assert json.loads(path.read_text()) == {"bootstrap": "h:1"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    remove(path)
    remove(path)
    assert not path.exists()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "ready.json"
    directory.mkdir()
    with pytest.raises(IsADirectoryError):
        write({"bootstrap": "h:1"}, directory)
    assert list(tmp_path.iterdir()) == [directory]


def test_without_a_place_there_is_none(tmp_path: Path) -> None:
    for environment in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": str(tmp_path / "gone")}):
        assert own_path(environment) is None
        assert newest(environment) is None


def test_the_newest_that_has_what_is_needed(environment: dict[str, str], tmp_path: Path) -> None:
    assert newest(environment) is None
    old = announced(tmp_path, "1", 1000, control={"url": "u", "token": "t"})
    new = announced(tmp_path, "2", 2000)
    assert newest(environment) == new
    assert newest(environment, "control") == old
    assert newest(environment, "control", "ui") is None


def test_what_a_kill_has_left_is_not_believed(environment: dict[str, str], tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    running = announced(tmp_path, "1", 1000)
    left = announced(tmp_path, "2", 2000, pid=ended.pid)
    for text in ("", "[]", "{}", '{"pid": "x"}'):
        (tmp_path / "kafkalite" / f"{len(text)}-odd.json").write_text(text)
    assert newest(environment) == running
    assert not left.exists()
