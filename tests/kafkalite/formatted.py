"""Python that was generated, as `make client` leaves it: mended and formatted by ruff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kafkalite

_PACKAGE = Path(kafkalite.__file__).parent


def written(name: str) -> str:
    """The text of a file of the package."""
    return (_PACKAGE / name).read_text()


def formatted(name: str, text: str) -> str:
    """A text as it would be written to that file."""
    path = str(_PACKAGE / name)
    for arguments in (["check", "--quiet", "--fix", "--exit-zero"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", path, "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text
