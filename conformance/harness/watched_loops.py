"""The longest turns of the brokers of tests.

A test fails in which anything held a loop for 30 ms of work, or of waiting for a disk: beside a
control port, whose clusters are cycles when they end, a full garbage collection takes 15 to 23 ms.
All others stay below 20, which is what `make soak` and the broker's own tests allow.
KAFKALITE_WATCHED has another number, and 0 for no watch. Without it, as in benchmarks, there is
none: the watch costs time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

VARIABLE: Final = "KAFKALITE_WATCHED"
IN_TESTS: Final = "30"
# The begin and the end of a broker.
NOT_SERVING: Final = "kafkalite.__main__._serve"
# The tests' own directory comes after the installed package, which may be another build.
_PROGRAM: Final = (
    "import runpy, sys; "
    f"sys.path.append({str(Path(__file__).parent.parent.parent)!r}); "
    "runpy.run_module('conformance.soak.watched', run_name='__main__', alter_sys=True)"
)
# Files with the findings of watchdogs, and how far they have been read.
_read: Final[dict[Path, int]] = {}


def watched_program(directory: Path) -> Sequence[str]:
    """The program that Python runs instead of the command `kafkalite`."""
    if not _most_ms():
        return ("-m", "kafkalite")
    path = directory / f"findings-{len(_read)}"
    _read[path] = 0
    return ("-c", _PROGRAM, str(path))


def _most_ms() -> float:
    return float(os.environ.get(VARIABLE, "0"))


def held() -> Iterator[str]:
    """The names of all that held a loop for too long since the last call."""
    most_ms = _most_ms()
    for path, start in _read.items():
        if not path.exists():
            continue
        with path.open() as file:
            file.seek(start)
            for line in iter(file.readline, ""):
                finding = json.loads(line)
                held_ms = max(finding["held_ms"] / finding["slowness"], finding["waited_ms"])
                if held_ms > most_ms and not finding["name"].startswith(NOT_SERVING):
                    yield f"{held_ms:.1f} ms: {finding['name']}"
            _read[path] = file.tell()
