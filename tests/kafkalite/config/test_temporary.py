"""A temporary directory ends with its block, its owner, or its process, and with no other one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalite.config.temporary import directory_of, temporary_directory


class Owner:
    """Has a directory."""


def test_it_ends_with_its_block() -> None:
    with temporary_directory("kafkalite-") as path:
        (path / "file").write_text("x")
        assert path.name.startswith("kafkalite-")
    assert not path.exists()


def test_it_may_be_gone_before_its_block_ends() -> None:
    with temporary_directory("kafkalite-") as path:
        path.rmdir()


def test_it_ends_with_its_owner() -> None:
    owner = Owner()
    path = directory_of(owner, "kafkalite-")
    assert path.is_dir()
    del owner
    assert not path.exists()


def leaving_the_block() -> None:
    with temporary_directory("kafkalite-") as path:
        in_a_child(lambda: None)
        assert path.is_dir()


def leaving_the_process() -> None:
    with temporary_directory("kafkalite-") as path:
        in_a_child(lambda: sys.exit(0))
        assert path.is_dir()


def with_an_owner() -> None:
    owner = Owner()
    path = directory_of(owner, "kafkalite-")
    in_a_child(lambda: sys.exit(0))
    assert path.is_dir()


def in_a_child(end: Callable[[], None]) -> None:
    """Fork, and go on once the child has ended. The child comes back from `end`, or does not."""
    child = os.fork()
    if child == 0:
        end()
    else:
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("case", [leaving_the_block, leaving_the_process, with_an_owner])
def test_a_forked_process_leaves_it_alone(case: Callable[[], None]) -> None:
    code = f"from {__name__} import {case.__name__} as case; case()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False, timeout=30
    )
    assert done.returncode == 0


def test_it_ends_with_its_process(tmp_path: Path) -> None:
    code = "from kafkalite.config.temporary import directory_of; directory_of(print, 'k-')"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=30)
    assert list(tmp_path.iterdir()) == []
