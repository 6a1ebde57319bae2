"""The longest turns of the brokers of tests. With KAFKALITE_WATCHED=20 a test fails in which
anything held a broker's loop for more milliseconds than that."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

MOST_MS: Final = float(os.environ.get("KAFKALITE_WATCHED", "0"))
# Files with the findings of watchdogs, and how far they have been read.
_read: Final[dict[Path, int]] = {}


def watched_program(directory: Path) -> Sequence[str]:
    """The program that Python runs instead of the command `kafkalite`."""
    if not MOST_MS:
        return ("-m", "kafkalite")
    path = directory / f"findings-{len(_read)}"
    _read[path] = 0
    return ("-m", "conformance.soak.watched", str(path))


def held() -> Iterator[str]:
    """The names of all that held a loop for too long since the last call."""
    for path, start in _read.items():
        if not path.exists():
            continue
        with path.open() as file:
            file.seek(start)
            for line in iter(file.readline, ""):
                finding = json.loads(line)
                if finding["held_ms"] > MOST_MS:
                    yield f"{finding['held_ms']:.1f} ms: {finding['name']}"
            _read[path] = file.tell()
