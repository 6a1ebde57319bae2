"""The command `kafkalite` with its watchdog's findings in a file, one JSON object a line."""

from __future__ import annotations

import gc
import json
import logging
import sys
from pathlib import Path
from time import thread_time
from typing import Final

from kafkalite.__main__ import main
from kafkalite.server import watchdog

NAMED_SECONDS: Final = 0.005


class Findings(logging.Filter):
    """Writes what held the loop, and keeps it out of the log."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("w", buffering=1)
        self._began = self._collected = 0.0
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = thread_time()
        else:
            self._collected = max(self._collected, thread_time() - self._began)

    def filter(self, record: logging.LogRecord) -> bool:
        fields = vars(record)
        name = fields["held_by"]
        if self._collected > NAMED_SECONDS:
            name += f" (a collection of garbage in the last seconds took {self._collected:.3f} s)"
        self._collected = 0.0
        finding = {"worked_ms": fields["worked_seconds"] * 1000, "name": name}
        self._file.write(json.dumps(finding) + "\n")
        return False


if __name__ == "__main__":
    findings, *arguments = sys.argv[1:]
    watchdog.logger.setLevel(logging.DEBUG)
    watchdog.logger.addFilter(Findings(Path(findings)))
    sys.exit(main(arguments))
