"""An instance of the word count of Kafka Streams (harness/StreamsScenario.java)."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from conformance.harness.broker import Reached
from conformance.harness.jars import kafka_streams_jars
from conformance.harness.java_program import program_command
from conformance.harness.process import start_process

PROGRAM = Path(__file__).parent.parent / "harness" / "StreamsScenario.java"
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
SECONDS = 60
# With two partitions of the source.
TASKS = {f"{subtopology}_{partition}" for subtopology in (0, 1) for partition in (0, 1)}


class Application:
    """One instance, a process of its own."""

    def __init__(
        self, broker: Reached, name: str, topics: tuple[str, str], state: Path, *how: str
    ) -> None:
        """`how` are the last arguments of the program: guarantee, protocol, base of windows."""
        self.name, (self.source, self.sink) = name, topics
        self.lines: list[str] = []
        self._process = start_process(
            [
                *program_command(PROGRAM, QUIET, jars=kafka_streams_jars()),
                *(broker.bootstrap, name, *topics, str(state), state.name, *how),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def tasks(self) -> tuple[set[str], set[str]]:
        """The active ones and the standbys."""
        said = [line for line in self.lines if line.startswith("tasks ")]
        active, _, standby = (said[-1] if said else "tasks  standby ")[6:].partition(" standby ")
        return set(filter(None, active.split(","))), set(filter(None, standby.split(",")))

    @property
    def restored(self) -> int:
        """The records that its stores were restored from."""
        return sum(int(line[9:]) for line in self.lines if line.startswith("restored "))

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < deadline, "\n".join(self.lines)
            time.sleep(0.1)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
