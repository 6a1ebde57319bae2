"""A child process with its output in a file, which never outlives the test run."""

import os
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STOP_SECONDS = 30.0
TAIL_BYTES = 4000
# One thread for the whole run: a process would die with a thread of its test's.
_STARTER = ThreadPoolExecutor(1, "starter")


class DidNotStart(Exception):
    """The process ended, or was not ready in time; the message ends with its output."""


def dying_with_parent(command: Sequence[str]) -> list[str]:
    """A test run that is killed takes along what it started (Linux's parent death signal).

    The parent is the thread that starts it, and has to wait for its end: else `started`.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    # A parent that has died already sends no signal.
    only_beside = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
    return [setpriv, "--pdeathsig", "KILL", "--", *only_beside, *command]


def start_process(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Start a process that dies with the test run, whichever thread asks for it.

    `options` are Popen's.
    """
    return _STARTER.submit(lambda: subprocess.Popen(dying_with_parent(command), **options)).result()


@contextmanager
def killed_in_the_end(process: "subprocess.Popen[Any]") -> "Generator[subprocess.Popen[Any]]":
    """A process that may have ended by then. Popen's own `with` waits, after a failure for ever."""
    with process:
        try:
            yield process
        finally:
            process.kill()


class Process:
    """Started at once; `output` holds what it wrote."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.output = output
        with output.open("ab") as file:
            self.popen = start_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=directory,
            )

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Ask until it is ready; raises DidNotStart."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.popen.poll() is not None:
                raise DidNotStart(f"it ended with {self.popen.returncode}:\n{self.tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise DidNotStart(f"it was not ready in {seconds} s:\n{self.tail()}")
            time.sleep(0.02)

    def stop(self) -> int:
        """Ask it to end, as an operator would; killed when it does not. Its exit status."""
        self.popen.terminate()
        try:
            return self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.popen.returncode

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        self.popen.kill()
        self.popen.wait()

    def tail(self) -> str:
        """The end of what it wrote."""
        return self.output.read_bytes()[-TAIL_BYTES:].decode(errors="replace")


class OneProcess(ABC):
    """A broker that is one process, which `start` starts."""

    process: Process

    @abstractmethod
    def start(self) -> None: ...

    @property
    def pid(self) -> int:
        return self.process.popen.pid

    def stop(self) -> int:
        return self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def tail(self) -> str:
        return self.process.tail()
