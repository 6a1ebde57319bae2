"""`kafkalite replay FILE`: a recording told again to a new broker, and each answer compared.

with k.recording("orders.zip"):
    run_the_app(k.bootstrap)
assert not replay("orders.zip").differences
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import trio

from kafkalite.config.flags import Parser, mistake
from kafkalite.config.temporary import temporary_directory
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import Replayed

_SAME: Final = 0
_DIFFERENT: Final = 1


def replay(path: str | Path) -> Replayed:
    """Tell a recording again, in this thread, with a broker of its own that is gone in the end.

    Raises OSError, and Problem for a file that is no recording.
    """
    from kafkalite.control.recording import read
    from kafkalite.control.replay import replay as tell

    recording = read(Path(path).read_bytes())
    with temporary_directory("kafkalite-") as root:
        return trio.run(tell, recording, root)


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all answers are as they were, 1 some are not, 2 it is no recording."""
    parser = Parser(prog="kafkalite replay", description="Compare all answers.")
    parser.add_argument("file", type=Path, help="of `kafkalite recording save`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(list(arguments))
    try:
        told = replay(given.file)
    except OSError as error:
        return mistake(f"{given.file} cannot be read: {error.strerror}")
    except Problem as problem:
        return mistake(f"{given.file}: {problem}")
    if given.json:
        print(json.dumps(msgspec.to_builtins(told), indent=2))
    else:
        for each in told.differences:
            print(f"#{each.seq} {each.api} {each.path}: {each.how}")
        print(f"{told.requests} requests, {told.answers} answers, {len(told.differences)} differ")
    return _DIFFERENT if told.differences else _SAME
