"""Very many logs in one data directory, and the longest step of work on them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from time import thread_time

from conformance.soak.stolen_time import StolenTime
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.wire.record_batch import Record, build_batch
from tests.log.directories import NOW_MS

# Each takes a step, which is counted; the time tells what is done for all of them at once.
MANY = 2000
# The loop may be held for so long.
MOST_SECONDS = 0.02


def fill(directory: LogDirectory, config: LogConfig) -> None:
    """Few logs under many names: to make thousands of files takes longer than all else."""
    logs = [directory.open_log("t", index, config) for index in range(10)]
    for log in logs:
        batch = build_batch([Record(timestamp=NOW_MS, key=b"k", value=b"v")])
        log.append(batch, leader_epoch=0)
        log.advance_high_watermark(log.log_end_offset)
    for index in range(MANY):
        directory.logs[f"topic-{index}", 0] = logs[index % len(logs)]


def empty(directory: LogDirectory) -> None:
    """Leave the names that are real."""
    for key in list(directory.logs):
        if key[0] != "t":
            del directory.logs[key]


def longest_step_seconds(steps: Iterator[object]) -> tuple[int, float]:
    """The number of steps, and the longest of them. A step's wait for the disk is a thread's."""
    count, longest = 0, 0.0
    gc.collect()
    gc.freeze()
    stolen = StolenTime()
    try:
        while True:
            began = thread_time()
            step = next(steps, steps)
            longest = max(longest, thread_time() - began)
            if step is steps:
                return count, stolen.own_seconds(longest, MOST_SECONDS)
            count += 1
            if callable(step):
                step()
    finally:
        gc.unfreeze()
