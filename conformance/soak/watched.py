"""The command `kafkalite` with its watchdog's findings in a file, one JSON object a line.

A turn's finding has the time for which the loop's thread worked in it, and the time for which it
waited for a disk: in fsync and its like, which belong in other threads. `held_ms` is the longer of
the two, less what the hypervisor took, `slowness` the speed of the core just after (speed.py).
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import threading
import traceback
from collections import deque
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any, Final

from conformance.soak.speed import slowness
from conformance.soak.stolen_time import LATE_SECONDS, StolenTimes
from kafkalite.__main__ import main
from kafkalite.log.files import Files
from kafkalite.server import watchdog

NAMED_SECONDS: Final = 0.005
# Operations that wait for a disk.
BLOCKING: Final = ("sync", "sync_directory", "sync_everything")
SHOWN_FRAMES: Final = 9
# Waits of one turn that are kept.
MOST_WAITS: Final = 1000


class DiskWaits:
    """The waits of the loop's thread for a disk: (when it was over, seconds)."""

    longest_at = ""
    """The functions around the last one that took long, the innermost first."""

    def __init__(self) -> None:
        self._waits: deque[tuple[float, float]] = deque(maxlen=MOST_WAITS)
        for operation in BLOCKING:
            setattr(Files, operation, self._timed(getattr(Files, operation)))

    def _timed(self, whole: Any) -> Any:
        def timed(files: Files, *arguments: Any) -> None:
            began = perf_counter()
            try:
                whole(files, *arguments)
            finally:
                if threading.current_thread() is threading.main_thread():
                    now = perf_counter()
                    self._waits.append((now, now - began))
                    if now - began > NAMED_SECONDS:
                        frames = reversed(traceback.extract_stack(limit=SHOWN_FRAMES)[:-1])
                        self.longest_at = " < ".join(frame.name for frame in frames)

        return timed

    def seconds_since(self, began: float) -> float:
        return sum(seconds for over, seconds in self._waits if over >= began)


class Findings(logging.Filter):
    """Writes what held the loop, and keeps it out of the log."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("a", buffering=1)  # another run of the broker goes on
        self._disk_waits = DiskWaits()
        self._stolen = StolenTimes()
        self._began = 0.0
        # Seconds and generation of the longest collection since the last finding.
        self._collected = (0.0, 0)
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = thread_time()
        else:
            took = thread_time() - self._began
            self._collected = max(self._collected, (took, info["generation"]))

    def filter(self, record: logging.LogRecord) -> bool:
        fields = vars(record)
        name = fields["held_by"]
        took, generation = self._collected
        if took > NAMED_SECONDS:
            name += f" (a collection of generation {generation} before took {took:.3f} s)"
        self._collected = (0.0, 0)
        began = perf_counter() - fields["held_seconds"]
        waited = self._disk_waits.seconds_since(began)
        if waited > NAMED_SECONDS:
            where = self._disk_waits.longest_at
            name += f" (it waited for a disk for {waited:.3f} s: {where})"
        worked = fields["worked_seconds"] - self._stolen.seconds_since(began)
        if worked > watchdog.LONG_SECONDS:
            sleep(LATE_SECONDS)
            worked = fields["worked_seconds"] - self._stolen.seconds_since(began)
        finding = {
            "held_ms": max(worked, waited) * 1000,
            "waited_ms": waited * 1000,
            "slowness": slowness(),
            "name": name,
        }
        self._file.write(json.dumps(finding) + "\n")
        return False


if __name__ == "__main__":
    findings, *arguments = sys.argv[1:]
    watchdog.logger.setLevel(logging.DEBUG)
    watchdog.logger.addFilter(Findings(Path(findings)))
    sys.exit(main(arguments))
