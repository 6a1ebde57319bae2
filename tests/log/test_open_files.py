"""Files open while they are used, within the limit; slices that outlive their segments."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.open_files import OpenFiles
from tests.log.directories import append, opened


def test_a_slice_outlives_its_segment(disk: Any) -> None:
    log = disk.log(config=LogConfig(segment_bytes=200, retention_bytes=0, file_delete_delay_ms=0))
    for i in range(10):
        disk.append(log, b"%d" % i * 50)
    records = log.read(0, 1000, upper_bound=10).records
    assert log.retain() == 10
    assert log.retain() == 0  # unlinks what the first took out
    assert [name for name in disk.names() if name.endswith(".deleted")] == []
    assert b"0" * 50 in records.read()
    records.close()
    assert len(disk.open_files) <= 1


@pytest.mark.slow
def test_many_logs_stay_within_the_limit_on_descriptors(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=50)
    with opened(tmp_path, open_files=open_files) as directory:
        logs = [directory.open_log("t", i, LogConfig()) for i in range(300)]
        for _ in range(2):
            for log in logs:
                append(log, b"x")
        assert len(open_files) <= 51
        assert [log.log_end_offset for log in logs] == [2] * 300
        assert not list((tmp_path / "t-0").glob("*.index"))
