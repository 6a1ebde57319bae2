"""A Java program of ours, run from its source with Apache Kafka's jars and spoken to through its
pipes."""

import subprocess
from pathlib import Path
from typing import Self

from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java


class JavaProcess:
    """A context manager: the program ends, at the end of its input, with it."""

    FAREWELL = b""

    def __init__(self, source: Path, *flags: str) -> None:
        all_flags = ("-XX:TieredStopAtLevel=1", "-Xmx256m", *flags)
        self.process = subprocess.Popen(
            [str(find_java()), *all_flags, "-cp", f"{kafka_jars()}/*", str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

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
        data = self.process.stdout.read(size)
        if len(data) != size:
            raise EOFError(f"{self.process.args!r} has ended")
        return data
