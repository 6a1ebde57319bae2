"""The checkpoints of a directory, written by more than one job."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Barrier, Thread

from kafkalite.log.checkpoints import read_offsets
from kafkalite.log.config import LogConfig
from kafkalite.log.directory_checkpoints import DirectoryCheckpoints
from kafkalite.log.files import FILES, HIGH_WATERMARK_CHECKPOINT, Files
from kafkalite.log.opening import open_log


def test_two_jobs_write_at_the_same_time(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: 0)
    checkpoints = DirectoryCheckpoints(tmp_path, Slow())
    failures: list[OSError] = []

    def write(barrier: Barrier) -> None:
        steps = [step for step in checkpoints.steps([(("t", 0), log)]) if step is not None]
        barrier.wait()
        try:
            for step in steps:
                step()
        except OSError as error:
            failures.append(error)

    barrier = Barrier(2)
    threads = [Thread(target=write, args=(barrier,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert read_offsets(FILES, tmp_path / HIGH_WATERMARK_CHECKPOINT) == {("t", 0): 0}


class Slow(Files):
    """A disk on which two that write the same file meet."""

    def sync(self, descriptor: int) -> None:
        time.sleep(0.02)
        super().sync(descriptor)
