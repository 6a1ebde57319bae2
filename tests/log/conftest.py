"""Shared by the tests of the log: a clock that stands still, a disk, batches in one line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

START_MS = 1_700_000_000_000


@dataclass
class Disk:
    """A directory with logs in it, and the clock they go by."""

    root: Path
    now_ms: int = START_MS
    open_files: OpenFiles = field(default_factory=OpenFiles)

    def log(self, name: str = "topic-0", config: LogConfig | None = None, **options: Any) -> Log:
        """Open a log; as after a crash, unless told `clean_shutdown=True`."""
        return open_log(
            self.root / name,
            config or LogConfig(),
            now_ms=lambda: self.now_ms,
            open_files=self.open_files,
            **options,
        )

    def names(self, name: str = "topic-0") -> list[str]:
        return sorted(path.name for path in (self.root / name).iterdir())

    def batch(self, *values: bytes, timestamp: int | None = None, **fields: Any) -> bytes:
        """A batch with a record for each value."""
        time = self.now_ms if timestamp is None else timestamp
        return build_batch([Record(timestamp=time, value=value) for value in values], **fields)

    def append(self, log: Log, *values: bytes, leader_epoch: int = 0, **fields: Any) -> int:
        """Append a batch, let everybody see it; its base offset."""
        info = log.append(self.batch(*values, **fields), leader_epoch=leader_epoch)
        log.advance_high_watermark(log.log_end_offset)
        return info.base_offset


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def read_all(log: Log) -> list[Record]:
    """Every record from the log's start to its end, control records too."""
    records: list[Record] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        with_slice = log.read(offset, 1 << 20, upper_bound=log.log_end_offset)
        data = with_slice.records if isinstance(with_slice.records, bytes) else None
        if data is None:
            data = with_slice.records.read()
            with_slice.records.close()
        batches = list(iterate_batches(data))
        if not batches:
            break
        for batch in batches:
            records += [record for record in iterate_records(batch) if record.offset >= offset]
        offset = batches[-1].next_offset
    return records


@pytest.fixture
def values() -> Callable[[Log], list[bytes | None]]:
    return lambda log: [record.value for record in read_all(log)]


@pytest.fixture
def records() -> Callable[[Log], Sequence[Record]]:
    return read_all
