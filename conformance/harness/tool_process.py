"""Apache Kafka's command line tools in one Java process (Tools.java): starting one each time takes
a second."""

import struct
from dataclasses import dataclass
from pathlib import Path

from conformance.harness.java_process import JavaProcess
from conformance.harness.main_classes import MAIN_CLASSES

SOURCE = Path(__file__).with_name("Tools.java")


@dataclass(frozen=True, slots=True)
class Ran:
    """The output of a tool, and its exit status."""

    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.output.splitlines() if line.strip()]


class ToolProcess(JavaProcess):
    """A context manager: the process ends with it."""

    FAREWELL = struct.pack(">i", 0)

    def __init__(self, log_level: str = "off") -> None:
        level = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}"
        super().__init__(SOURCE, "-XX:+UseSerialGC", level)

    def run(self, tool: str, *arguments: str) -> tuple[int, str]:
        """Exit status, and all that was printed."""
        status, printed, _, _ = self._answer(tool, *arguments)
        return status, printed

    def ran(self, tool: str, *arguments: str) -> Ran:
        """Exit status, what was printed, and what was printed as errors."""
        status, _, output, errors = self._answer(tool, *arguments)
        return Ran(status, output, errors)

    def _answer(self, tool: str, *arguments: str) -> tuple[int, str, str, str]:
        words = [word.encode() for word in (MAIN_CLASSES[tool], *arguments)]
        request = struct.pack(">i", len(words))
        request += b"".join(struct.pack(">H", len(word)) + word for word in words)
        self.write(request)
        (status,) = struct.unpack(">i", self.read(4))
        return status, self._text(), self._text(), self._text()

    def _text(self) -> str:
        (size,) = struct.unpack(">i", self.read(4))
        return self.read(size).decode()
