"""Logs of many segments, and the most that is done with their files in one go."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from tests.log.conftest import Disk

COUNT = 150


class CountedFiles(Files):
    """Counts what is done, except by `aside`."""

    def __init__(self) -> None:
        self.count = 0

    def open(self, path: Path, flags: int) -> int:
        self.count += 1
        return super().open(path, flags)

    def close(self, descriptor: int) -> None:
        self.count += 1
        super().close(descriptor)

    def size(self, path: Path) -> int:
        self.count += 1
        return super().size(path)

    def modified_ms(self, path: Path) -> int:
        self.count += 1
        return super().modified_ms(path)

    def rename(self, source: Path, target: Path) -> None:
        self.count += 1
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self.count += 1
        super().unlink(path)

    def most_in_one_go(self, pieces: Iterable[Any]) -> int:
        """The most that is done in one piece. What a thread would do does not count."""
        most, began = 0, self.count
        for piece in pieces:
            most = max(most, self.count - began)
            work = getattr(piece, "work", piece)
            if callable(work):
                work()
            began = self.count
        return max(most, self.count - began)


def counted(disk: Disk) -> CountedFiles:
    """Have what is done with the disk's files counted."""
    files = CountedFiles()
    disk.open_files = OpenFiles(files=files)
    return files


def many_segments(disk: Disk, count: int = COUNT, **configs: Any) -> Log:
    """A log with a record in each segment, closed and opened: nothing of them is in memory."""
    config = LogConfig(segment_ms=1, **configs)
    log = disk.log(config=config)
    for i in range(count):
        disk.now_ms += 10
        disk.append(log, b"%d" % i)
    log.close()
    log = disk.log(config=config, clean_shutdown=True, recovery_point=count)
    log.advance_high_watermark(count)
    assert len(log.segments) == count
    assert os.stat(log.segments.first.file.path).st_size > 0
    return log
