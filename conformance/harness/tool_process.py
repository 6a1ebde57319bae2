"""Apache Kafka's command line tools in one Java process (Tools.java): starting one each time takes
a second."""

import struct
from pathlib import Path

from conformance.harness.java_process import JavaProcess
from conformance.harness.tools import MAIN_CLASSES

SOURCE = Path(__file__).with_name("Tools.java")


class ToolProcess(JavaProcess):
    """A context manager: the process ends with it."""

    FAREWELL = struct.pack(">i", 0)

    def __init__(self) -> None:
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        super().__init__(SOURCE, "-XX:+UseSerialGC", level)

    def run(self, tool: str, *arguments: str) -> tuple[int, str]:
        """Exit status, and all that was printed."""
        words = [word.encode() for word in (MAIN_CLASSES[tool], *arguments)]
        request = struct.pack(">i", len(words))
        request += b"".join(struct.pack(">H", len(word)) + word for word in words)
        self.write(request)
        status, size = struct.unpack(">ii", self.read(8))
        return status, self.read(size).decode()
