"""Apache Kafka's command line tools in one Java process (Tools.java): starting one each time takes a second."""

import struct
import subprocess
from pathlib import Path
from typing import Self

from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java
from conformance.harness.tools import MAIN_CLASSES

SOURCE = Path(__file__).with_name("Tools.java")


class ToolProcess:
    """A context manager: the process ends with it."""

    def __init__(self) -> None:
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        flags = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", level)
        self.process = subprocess.Popen(
            [str(find_java()), *flags, "-cp", f"{kafka_jars()}/*", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(struct.pack(">i", 0))
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def run(self, tool: str, *arguments: str) -> tuple[int, str]:
        """Exit status, and all that was printed."""
        assert self.process.stdin is not None
        words = [word.encode() for word in (MAIN_CLASSES[tool], *arguments)]
        request = struct.pack(">i", len(words))
        request += b"".join(struct.pack(">H", len(word)) + word for word in words)
        self.process.stdin.write(request)
        self.process.stdin.flush()
        status, size = struct.unpack(">ii", self._read(8))
        return status, self._read(size).decode()

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(size)
        assert len(data) == size, "the tools' process has ended"
        return data
