"""A data directory whose clock stands still, and batches in its logs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafkalite.log.directory import LogDirectory
from kafkalite.log.log import Log
from kafkalite.wire.record_batch import Record, build_batch

NOW_MS = 1_700_000_000_000


def open_directory(path: Path, **options: Any) -> LogDirectory:
    options.setdefault("cluster_id", "c" * 22)
    return LogDirectory.open(path, node_id=1, now_ms=lambda: NOW_MS, **options)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[LogDirectory]:
    directory = open_directory(path, **options)
    try:
        yield directory
    finally:
        directory.close()


def append(log: Log, value: bytes) -> None:
    log.append(build_batch([Record(timestamp=NOW_MS, value=value)]), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
