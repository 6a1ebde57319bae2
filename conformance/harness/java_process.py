"""A Java program of ours, run from its source with Apache Kafka's jars and spoken to through its
pipes."""

import subprocess
from pathlib import Path
from typing import Self

from conformance.harness.java_program import program_command
from conformance.harness.process import start_process


class JavaProcess:
    """A context manager: the program ends, at the end of its input, with it."""

    FAREWELL = b""

    def __init__(self, source: Path, *flags: str) -> None:
        self.process = start_process(
            self.command(source, "-Xmx256m", *flags),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def command(self, source: Path, *flags: str) -> list[str]:
        """The command that starts it."""
        return program_command(source, *flags)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(self.FAREWELL)
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, size: int) -> bytes:
        """Exactly so many bytes. Raises EOFError when the program has ended."""
        assert self.process.stdout is not None
        data: bytes = self.process.stdout.read(size)
        if len(data) != size:
            raise EOFError(f"{self.process.args!r} has ended")
        return data
