"""The time that a hypervisor takes from a virtual machine: Linux counts it as the thread's own."""

from __future__ import annotations

from collections import deque
from os import sysconf
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Final

# The clock may be told so much later: a core that stood still for 39 ms had told of 30 of them
# 50 ms after it, and of all after 150.
LATE_SECONDS: Final = 0.3
_TICKS_PER_SECOND: Final = sysconf("SC_CLK_TCK")
_BETWEEN_SECONDS: Final = 0.1
_KEPT: Final = 600


class StolenTime:
    """The time that was taken from all cores since this was made, by a clock of 10 ms."""

    def __init__(self) -> None:
        self._before = _stolen_seconds()

    def seconds(self) -> float:
        return _stolen_seconds() - self._before

    def own_seconds(self, took: float, most: float) -> float:
        """The seconds that something took, less the stolen ones.

        If these are more than `most`, wait first until the clock is told of all that was stolen.
        """
        if took - self.seconds() > most:
            sleep(LATE_SECONDS)
        return took - self.seconds()


class StolenTimes:
    """Looks at that clock ten times a second, in a thread: for what has begun before one asks."""

    def __init__(self) -> None:
        self._seen = deque([(perf_counter(), _stolen_seconds())], maxlen=_KEPT)
        Thread(target=self._watch, name="stolen time", daemon=True).start()

    def _watch(self) -> None:
        while True:
            sleep(_BETWEEN_SECONDS)
            self._seen.append((perf_counter(), _stolen_seconds()))

    def seconds_since(self, began: float) -> float:
        """Since a time of perf_counter, or since a tenth of a second before it."""
        before = self._seen[0][1]
        for when, stolen in [*self._seen]:
            if when > began:
                break
            before = stolen
        return _stolen_seconds() - before


def _stolen_seconds() -> float:
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(ticks[8]) / _TICKS_PER_SECOND
