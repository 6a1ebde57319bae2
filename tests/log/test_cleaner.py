"""The cleaner chooses logs and their cleanable parts, remembers, and leaves damaged logs alone."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.cleaner import Cleaner, Throttle, cleanable_part
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from tests.log.compacted import COMPACT, end, put


def test_an_open_transaction_stops_the_cleaner(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(10):
        put(disk, log, (b"a", b"%d" % i))
    log.roll()
    put(
        disk,
        log,
        (b"a", b"t"),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    log.roll()
    put(disk, log, (b"a", b"last"))
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 10
    end(disk, log, 1, commit=True)
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 13


def test_when_a_log_is_due(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(20):
        put(disk, log, (b"a", b"%d" % i))
    part = cleanable_part(log, 0)
    assert part.is_due
    assert part.ratio == 1.0
    half = log.segments.base_offsets[2]
    log.config = LogConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9)
    assert not cleanable_part(log, half).is_due
    log.config = LogConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9, max_compaction_lag_ms=1000
    )
    assert not cleanable_part(log, half).is_due
    disk.now_ms += 1001
    assert cleanable_part(log, half).is_due
    log.config = LogConfig(cleanup_policy=("compact",), min_compaction_lag_ms=2000)
    assert not cleanable_part(log, 0).is_due
    disk.now_ms += 1000
    assert cleanable_part(log, 0).is_due
    assert not cleanable_part(log, log.segments.active.base_offset).is_due


def test_the_cleaner_remembers_and_goes_on(tmp_path: Path, disk: Any) -> None:
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)
    compacted = directory.open_log("compacted", 3, COMPACT)
    plain = directory.open_log("plain", 0, LogConfig(segment_bytes=400))
    for i in range(30):
        for log in (compacted, plain):
            put(disk, log, (b"k", b"%d" % i))
    cleaner = Cleaner([directory])
    assert run_to_end(cleaner)
    end_offset = compacted.segments.active.base_offset
    text = (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert text == f"0\n1\ncompacted 3 {end_offset}\n"
    assert compacted.size_bytes < plain.size_bytes / 3
    assert not run_to_end(Cleaner([directory]))
    directory.close()


def test_a_damaged_log_is_left_alone_and_the_others_are_cleaned(tmp_path: Path, disk: Any) -> None:
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)
    logs = [directory.open_log("t", i, COMPACT) for i in range(2)]
    for i in range(30):
        for log in logs:
            put(disk, log, (b"k", b"%d" % i))
    path = logs[0].segments.first.file.path
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    cleaner = Cleaner([directory])
    while run_to_end(cleaner):
        pass
    assert cleaner.uncleanable == {("t", 0)}
    assert logs[1].size_bytes < logs[0].size_bytes / 3
    directory.close()


def run_to_end(cleaner: Cleaner) -> bool:
    run = cleaner.clean()
    while True:
        try:
            step = next(run)
        except StopIteration as stop:
            return stop.value
        if step.work is not None:
            step.work()


def test_throttle() -> None:
    throttle = Throttle(100.0, now=0.0)
    assert throttle.wait_s(50, now=0.0) == pytest.approx(0.5)
    assert throttle.wait_s(50, now=0.5) == pytest.approx(0.5)
    assert throttle.wait_s(0, now=5.0) == 0.0
    assert throttle.wait_s(100, now=5.0) == pytest.approx(1.0)
