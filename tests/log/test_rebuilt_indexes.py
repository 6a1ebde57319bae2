"""Every crash while an index is built again, n = 1, 2, 3, ...: the segment loses nothing."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files, segment_file
from kafkalite.log.open_files import OpenFiles
from tests.log.conftest import START_MS, Disk
from tests.log.faults import Crash, FaultyFiles
from tests.log.producing import Producer, aborted


@pytest.mark.parametrize("damaged", [".index", ".timeindex", ".txnindex"])
def test_a_crash_while_an_index_is_built_again_costs_none_of_its_segment(
    disk: Any, damaged: str
) -> None:
    """The next start builds it again, or finds it whole: half of it would look sound."""
    config = LogConfig(segment_bytes=300, index_interval_bytes=50)
    log = disk.log(config=config)
    producer = Producer(disk, log)
    producer.append(0, transactional=True)
    producer.end(commit=False)
    for _ in range(6):
        disk.append(log, b"x")
    expected, end = aborted(log, 0, 9), log.log_end_offset
    assert expected
    log.close()
    path = segment_file(disk.root / "topic-0", 0, damaged)
    path.write_bytes(path.read_bytes()[:-1])
    shutil.move(path.parent, disk.root / "damaged")
    files = FaultyFiles()
    while not files.fail_at or files.is_dead:
        n, files = files.fail_at + 1, FaultyFiles()
        files.fail_at, files.fault = n, files.die
        shutil.rmtree(path.parent, ignore_errors=True)
        shutil.copytree(disk.root / "damaged", path.parent)
        with suppress(Crash):
            Disk(disk.root, open_files=OpenFiles(files=files)).log(
                config=config, clean_shutdown=True, recovery_point=end
            )
        files.close_all()
        log = disk.log(config=config, recovery_point=end)
        assert aborted(log, 0, 9) == expected
        assert log.offset_for_timestamp(0) == (START_MS, 0, 0)
        log.close_files()
    assert files.fail_at > 5


class Syncs(Files):
    """Notes the files that are synced."""

    def __init__(self) -> None:
        self.synced: set[str] = set()

    def sync(self, descriptor: int) -> None:
        self.synced.add(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        super().sync(descriptor)


@pytest.mark.parametrize("damaged", [".index", ".timeindex"])
def test_an_index_that_was_built_again_is_on_the_disk(disk: Any, damaged: str) -> None:
    """Its segment is below the recovery point, so that no later flush begins there."""
    log = disk.log()
    for _ in range(3):
        disk.append(log, b"x")
    end = log.log_end_offset
    log.close()
    path = segment_file(disk.root / "topic-0", 0, damaged)
    path.unlink()
    files = Syncs()
    opened = Disk(disk.root, open_files=OpenFiles(files=files)).log(
        clean_shutdown=True, recovery_point=end
    )
    assert path.name in files.synced
    opened.close()
