"""`kafkalite run [FLAG ...] -- COMMAND`: a test suite, or any command, beside its own broker.

The flags are those of `kafkalite`. The command finds the broker by KAFKALITE_BOOTSTRAP, and its
verbs by KAFKALITE_URL and KAFKALITE_TOKEN; KAFKALITE_READY_FILE names a file with all of it. The
broker has a temporary directory and the profile "test", and ends with the command, whose exit code
is that of `run`.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from kafkalite.client.broker_process import (
    ENDED_BY_SIGNAL,
    SIGNALS,
    NotStarted,
    broker_process,
    environment,
)
from kafkalite.config.flags import MISTAKE, mistake

_HELP: Final = frozenset({"-h", "--help"})


def main(arguments: Sequence[str]) -> int:
    """The exit code of the command; 2 if it or the broker could not be started."""
    before, dashes, command = _parts(arguments)
    if _HELP & set(before):
        print(f"usage: kafkalite run [FLAG ...] -- COMMAND\n\n{__doc__}", end="")
        return 0
    if not dashes or not command:
        return mistake("run needs a command after --: kafkalite run -- pytest")
    if shutil.which(command[0]) is None:
        return mistake(f"there is no program {command[0]!r}")
    try:
        with (
            _signals_passed_on() as running,
            broker_process(["--log-level", "warning", *before]) as ready,
        ):
            told = json.loads(ready.read_text())
            found = environment(told["bootstrap"], **told["control"], cluster="default")
            process = subprocess.Popen(command, env={**found, "KAFKALITE_READY_FILE": str(ready)})
            running.append(process)
            code = process.wait()
    except NotStarted:
        return MISTAKE  # the broker has said why
    return code if code >= 0 else ENDED_BY_SIGNAL - code


def _parts(arguments: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    words = list(arguments)
    if "--" not in words:
        return words, False, []
    at = words.index("--")
    return words[:at], True, words[at + 1 :]


@contextmanager
def _signals_passed_on() -> Generator[list[subprocess.Popen[bytes]]]:
    """Signals are for the command that runs: this process ends after it.

    A terminal sends Ctrl-C to the command itself. Before it runs, a signal ends this process.
    """
    running: list[subprocess.Popen[bytes]] = []

    def came(number: int, frame: FrameType | None) -> None:
        if not running:
            raise SystemExit(ENDED_BY_SIGNAL + number)
        if number != signal.SIGINT:
            running[0].send_signal(number)

    before = [(each, signal.signal(each, came)) for each in SIGNALS]
    try:
        yield running
    finally:
        for each, handler in before:
            signal.signal(each, handler)
