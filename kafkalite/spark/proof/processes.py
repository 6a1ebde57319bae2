"""The broker and the Spark driver of a proof: processes that are killed with all they started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kafkalite.spark.pipelines.errors import CouldNotBegin, PipelineError

_START_SECONDS: Final = 60.0
_TAIL_BYTES: Final = 2000
# The driver makes this file when its queries run: Spark is there, and so is its connector.
QUERIES_RUN: Final = "driver.begun"


def check_java() -> None:
    """Look whether Spark will find a Java, where its bin/spark-class does. Raises CouldNotBegin."""
    spark = os.environ.get("SPARK_HOME")
    settings = os.environ.get("SPARK_CONF_DIR") or (spark and f"{spark}/conf")
    if settings and Path(settings, "spark-env.sh").exists():
        return  # which may say where Java is
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    if shutil.which(java) is None:
        where = f"JAVA_HOME has no {java}" if home else "none is in PATH, and JAVA_HOME is not set"
        raise CouldNotBegin(f"Spark needs Java: {where}")


class Child:
    """A process in a group of its own, its output in a file; it dies with us (on Linux)."""

    def __init__(self, command: Sequence[str], output: Path) -> None:
        setpriv = shutil.which("setpriv")
        prefix = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        self._output = output
        with output.open("ab") as file:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL for it and what it started (Spark's JVM is a child of the driver)."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def tail(self) -> str:
        """The end of what it said, on one line."""
        text = self._output.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        return " ".join(text.split())


class BrokerProcess:
    """`kafkalite`, as its users start it; a restart is on the same port and data."""

    def __init__(self, directory: Path) -> None:
        self.data_dir = directory / "broker"
        self._directory = directory
        self._ready = directory / "broker.ready"
        self._port = 0
        self._child: Child | None = None

    def start(self) -> str:
        """Start, and wait until clients can connect; the bootstrap address. Raises
        PipelineError."""
        self._ready.unlink(missing_ok=True)
        command = ["-m", "kafkalite", "--port", str(self._port), "--data-dir", str(self.data_dir)]
        command += ["--ready-file", str(self._ready), "--log-level", "warning"]
        self._child = Child(command, self._directory / "broker.log")
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready.exists():
            if not self._child.is_running or time.monotonic() > deadline:
                self.kill()
                raise PipelineError(f"the broker did not start: {self._child.tail()}")
            time.sleep(0.02)
        bootstrap = str(json.loads(self._ready.read_text())["bootstrap"])
        self._port = int(bootstrap.rpartition(":")[2])
        return bootstrap

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()


class DriverProcess:
    """The Spark application of `driver.py`."""

    def __init__(self, directory: Path, bootstrap: str, spark_arguments: Sequence[str]) -> None:
        self._directory = directory
        self._begun = directory / QUERIES_RUN
        self._begun.unlink(missing_ok=True)
        self._command = [
            *("-m", "kafkalite.spark.proof.driver", "--bootstrap", bootstrap),
            *("--directory", str(directory), *spark_arguments),
        ]
        self._child: Child | None = None
        self.starts = 0

    def start(self, *, to_the_end: bool = False) -> None:
        extra = ["--to-the-end"] if to_the_end else []
        self._child = Child([*self._command, *extra], self._directory / "driver.log")
        self.starts += 1

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.is_running

    @property
    def has_begun(self) -> bool:
        """True if any driver of this proof had its queries running."""
        return self._begun.exists()

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None if it did not end in time."""
        assert self._child is not None
        try:
            return self._child.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def tail(self) -> str:
        return "" if self._child is None else self._child.tail()

    def problem(self) -> str:
        """The last line of the driver's log that names an error, and where the rest stands."""
        log = self._directory / "driver.log"
        lines = log.read_text(errors="replace").splitlines() or ["nothing was said"]
        named = [line for line in lines if "Error" in line or "Exception" in line]
        return f"{(named or lines)[-1].strip()} ({log})"
