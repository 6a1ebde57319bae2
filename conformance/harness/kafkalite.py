"""kafkalite, started as its users start it: the command, a data directory, a ready file."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import kafkalite
from conformance.harness.broker import SMALL
from conformance.harness.process import OneProcess, Process
from conformance.harness.watched_loops import watched_program

# Up in a blink, unless the machine is full of other work.
START_SECONDS = 60.0
ROOT = Path(kafkalite.__file__).resolve().parent.parent
# Another environment's Python, such as .venv-compiled/bin/python, runs the brokers of that build.
PYTHON = str(Path(os.environ.get("KAFKALITE_PYTHON", sys.executable)).absolute())


def environment() -> dict[str, str]:
    """The variables of a broker: an installed build is not hidden by the source in ROOT."""
    return os.environ | ({"PYTHONSAFEPATH": "1"} if sys.executable != PYTHON else {})


def version() -> str:
    """The version and the build that the brokers run."""
    command = [PYTHON, "-m", "kafkalite", "--version"]
    done = subprocess.run(
        command, env=environment(), cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class Kafkalite(OneProcess):
    """One process with `node_count` nodes, on ports of its own choice that it keeps."""

    kind = "kafkalite"

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        node_count: int = 1,
        program: Sequence[str] | None = None,
    ) -> None:
        """`program` is what Python runs instead of the command, with the command's flags."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.program = watched_program(directory) if program is None else program
        self.properties = {**SMALL, **(properties or {})}
        self.node_count = node_count
        self.data_dir = directory / "data"
        self.bootstrap = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        ready_file = self.directory / "ready.json"
        ready_file.unlink(missing_ok=True)
        command = self.command(ready_file)
        self.process = Process(
            command, self.directory / "output", environment=environment(), directory=ROOT
        )
        self.process.wait_until(ready_file.exists, START_SECONDS)
        self.ready = json.loads(ready_file.read_text())
        self.bootstrap = str(self.ready["bootstrap"])

    def command(self, ready_file: Path) -> list[str]:
        """The command that starts it."""
        return [
            *(PYTHON, *self.program, *self.listener_flags()),
            *("--ready-file", str(ready_file), "--nodes", str(self.node_count)),
            *(() if "log.dirs" in self.properties else ("--data-dir", str(self.data_dir))),
            *(f"--set={name}={value}" for name, value in self.properties.items()),
        ]

    def listener_flags(self) -> list[str]:
        """The flags for host and port: the port it has had, if any."""
        first_port = self.bootstrap.split(",")[0].rpartition(":")[2]
        return ["--host", "127.0.0.1", "--port", first_port]
