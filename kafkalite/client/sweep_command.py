"""`kafkalite sweep --api Produce,OffsetCommit --drop after -- COMMAND`: a sweep of any program.

The command is run once for each position. It finds the cluster by KAFKALITE_BOOTSTRAP, and its
verbs by KAFKALITE_URL, KAFKALITE_TOKEN and KAFKALITE_CLUSTER. It passes if it exits with 0.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from kafkalite.client.broker_process import (
    ENDED_BY_SIGNAL,
    SIGNALS,
    NotStarted,
    broker_process,
    environment,
)
from kafkalite.client.connecting import Client, read_ready_file
from kafkalite.client.kit import Kit
from kafkalite.client.sweep import MOST_POSITIONS, NothingToSweep, Plan, criteria, sweep
from kafkalite.config.flags import Parser, mistake
from kafkalite.control.faults.rule import Action
from kafkalite.control.problems import Problem

_SHOWN_CHARACTERS: Final = 2000
_MOMENTS: Final = ("drop", "silence")


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 all passed, 1 a position fails, 2 there was nothing to sweep."""
    given = _parser().parse_args(list(arguments))
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    actions = _actions(given)
    if not command or not actions:
        return mistake("sweep needs an action, and a command after --")
    if shutil.which(command[0]) is None:
        return mistake(f"there is no program {command[0]!r}")
    named = {"topic": given.topic, "client_id": given.client_id}
    when = criteria(given.api.split(","), {key: each for key, each in named.items() if each})
    try:
        with _ended_by_signals() as running, broker_process(errors=subprocess.DEVNULL) as ready:
            url, token = read_ready_file(ready)
            kit = Client(url, token)

            @contextmanager
            def new_cluster() -> Generator[Kit]:
                made = kit.ask("clusters.create")
                cluster = kit.on(made.name)
                cluster.spy()
                try:
                    yield cluster
                finally:
                    cluster.ask("clusters.delete")

            def run(cluster: Kit, name: str) -> str | None:
                where = cluster.describe().bootstrap, url, token, cluster.cluster
                why = _run(command, environment(*where), given.timeout, running)
                if why is not None and given.traces is not None:
                    given.traces.mkdir(parents=True, exist_ok=True)
                    cluster.trace(given.traces / f"{name.replace(' ', '-')}.zip")
                return why

            plan = Plan(when, actions, given.pairs, given.limit)
            report = sweep(new_cluster, run, plan, jobs=given.jobs, tell=_tell)
    except (NothingToSweep, NotStarted, Problem) as error:
        return mistake(error)
    print(report)
    return 1 if report.failed else 0


def _parser() -> Parser:
    parser = Parser(prog="kafkalite sweep", description=__doc__)
    parser.add_argument("--api", required=True, help="APIs whose requests count: Produce,EndTxn")
    parser.add_argument("--topic", help="only requests that name it")
    parser.add_argument("--client-id", help="only requests of this client")
    for name in _MOMENTS:
        parser.add_argument(f"--{name}", action="append", choices=("before", "after"), default=[])
    parser.add_argument("--error", action="append", default=[], help="an error of Kafka's")
    parser.add_argument("--pairs", action="store_true", help="then any two faults in one run")
    parser.add_argument("--limit", type=int, default=MOST_POSITIONS, help="runs at most")
    parser.add_argument("-j", "--jobs", type=_at_least_one, default=1, help="runs at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for a run")
    parser.add_argument("--traces", type=Path, help="keep a trace of each run that fails there")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND ...")
    return parser


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _tell(done: int, total: int) -> None:
    """Show on a terminal how far it is."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} runs", end=end, file=sys.stderr, flush=True)


def _actions(given: argparse.Namespace) -> list[Action]:
    chosen = [Action(drop=moment) for moment in given.drop]
    chosen += [Action(silence=moment) for moment in given.silence]
    return chosen + [Action(error=code) for code in given.error]


def _run(
    command: Sequence[str],
    variables: Mapping[str, str],
    timeout: float,
    running: set[subprocess.Popen[str]],
) -> str | None:
    """Says how a command has failed; None if it did not. It is among the `running` meanwhile."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=variables, stdout=pipe, stderr=pipe, text=True)
    running.add(process)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"it takes longer than {timeout:g} s"
    finally:
        running.discard(process)
    if process.returncode == 0:
        return None
    said = (out + err).strip()[-_SHOWN_CHARACTERS:]
    return f"exit code {process.returncode}: {said}"


@contextmanager
def _ended_by_signals() -> Generator[set[subprocess.Popen[str]]]:
    """A signal ends what runs, and this process with what it has started.

    It exits as a shell tells of the signal: Ctrl-C, the end of a time limit, a closed terminal.
    """
    running: set[subprocess.Popen[str]] = set()

    def end(number: int, frame: FrameType | None) -> None:
        for process in tuple(running):
            process.terminate()
        raise SystemExit(ENDED_BY_SIGNAL + number)

    before = [(each, signal.signal(each, end)) for each in SIGNALS]
    try:
        yield running
    finally:
        for each, handler in before:
            signal.signal(each, handler)
