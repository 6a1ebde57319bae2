"""Directories that are there for as long as they are needed, in the process that made them.

A process that is forked from it, and ends, leaves them alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class _Block:
    """Owns the directory of a block."""


@contextmanager
def temporary_directory(prefix: str) -> Generator[Path]:
    """A new directory, which is removed at the end of the block, or of the process."""
    owner = _Block()
    path, remove = _made(owner, prefix)
    try:
        yield path
    finally:
        remove()


def directory_of(owner: object, prefix: str) -> Path:
    """A new directory, which is removed when `owner` is gone, or at the end of the process."""
    return _made(owner, prefix)[0]


def _made(owner: object, prefix: str) -> tuple[Path, weakref.finalize[..., object]]:
    path = Path(tempfile.mkdtemp(prefix=prefix))
    return path, weakref.finalize(owner, _remove, path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
