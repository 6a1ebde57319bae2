"""A new segment begins: by size, time, offset or a full index."""

import errno
import logging
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.open_files import OpenFiles
from tests.log.faults import FaultyFiles


@pytest.mark.parametrize(
    ("fields", "gap_ms", "rolls"),
    [
        ({"segment_ms": 1000}, 1000, False),
        ({"segment_ms": 1000}, 1001, True),
        ({"segment_ms": 10**12}, 10**9, False),
    ],
)
def test_roll_by_time(disk: Any, fields: dict[str, Any], gap_ms: int, rolls: bool) -> None:
    log = disk.log(config=LogConfig(**fields))
    disk.append(log, b"a")
    disk.now_ms += gap_ms
    disk.append(log, b"b")
    assert len(log.segments) == (2 if rolls else 1)


def test_the_log_tells_of_a_roll(disk: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalite.log.rolling")
    log = disk.log()
    disk.append(log, b"a")
    log.roll()
    log.roll()  # an empty one is not rolled
    assert caplog.messages == [f"{log.name}: new segment at offset 1"]


def test_roll_when_the_index_is_full(disk: Any) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0, segment_index_bytes=48))
    for i in range(10):
        disk.append(log, b"x", timestamp=disk.now_ms + i)
    assert log.segments.base_offsets == [0, 4, 8]


def test_the_indexes_of_a_segment_keep_the_size_that_they_began_with(disk: Any) -> None:
    """Whatever segment.index.bytes is by now; also of a first segment that has nothing yet."""
    small, large = (
        LogConfig(index_interval_bytes=0, segment_index_bytes=count) for count in (48, 72)
    )
    log = disk.log(config=large)
    log.config = small
    for i in range(10):
        disk.append(log, b"x", timestamp=disk.now_ms + i)
    assert log.segments.base_offsets == [0, 6]
    log.config = large
    for i in range(10):
        disk.append(log, b"x", timestamp=disk.now_ms + 10 + i)
    assert log.segments.base_offsets == [0, 6, 10, 16]


@pytest.mark.parametrize(("offset", "rolls"), [(2**31 - 1, False), (2**31, True)])
def test_roll_when_an_offset_does_not_fit_the_indexes(
    disk: Any, values: Any, offset: int, rolls: bool
) -> None:
    log = disk.log()
    disk.append(log, b"first")
    log.append_as_follower(disk.batch(b"far", base_offset=offset))
    assert len(log.segments) == (2 if rolls else 1)
    assert values(log) == [b"first", b"far"]


def test_jitter_rolls_earlier(disk: Any) -> None:
    log = disk.log(config=LogConfig(segment_ms=1000, segment_jitter_ms=1000))
    rolled = 0
    for _ in range(200):
        before = len(log.segments)
        disk.append(log, b"a")
        disk.now_ms += 500
        disk.append(log, b"b")
        rolled += len(log.segments) > before
        log.roll()
    assert 20 < rolled < 180


def test_an_empty_active_segment_is_not_rolled(disk: Any) -> None:
    log = disk.log()
    first = log.segments.active
    assert log.roll() is first
    disk.append(log, b"x")
    second = log.roll()
    assert second.base_offset == 1
    assert log.roll() is second
    assert log.segments.base_offsets == [0, 1]


def test_a_rolled_segment_has_its_indexes_and_the_log_a_snapshot(disk: Any) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for sequence in range(3):
        disk.append(log, b"x", producer_id=7, producer_epoch=0, base_sequence=sequence)
    assert disk.names() == [f"{0:020d}.log", "leader-epoch-checkpoint"]
    log.roll()
    assert disk.names() == [
        f"{0:020d}.index",
        f"{0:020d}.log",
        f"{0:020d}.timeindex",
        f"{3:020d}.log",
        f"{3:020d}.snapshot",
        "leader-epoch-checkpoint",
    ]
    assert log.recovery_point == 0  # the flush comes later
    log.close_files()
    assert disk.log(recovery_point=3).producer_state.producers[7].last_sequence == 2


def test_each_segment_has_its_own_jitter(disk: Any) -> None:
    log = disk.log(config=LogConfig(segment_ms=10**6, segment_jitter_ms=10**6))
    found = {log.roll_jitter_ms}
    for _ in range(5):
        disk.append(log, b"x", timestamp=-1)
        log.roll()
        found.add(log.roll_jitter_ms)
    assert len(found) > 1


def test_a_roll_that_fails_leaves_the_active_segment(disk: Any) -> None:
    files = FaultyFiles()
    disk.open_files = OpenFiles(files=files)
    log = disk.log()
    disk.append(log, b"x")
    failed = 0
    while len(log.segments) == 1:
        files.fail_at, files.fault = files.count + failed + 1, full
        try:
            log.roll()
        except OSError:
            failed += 1
            assert log.segments.base_offsets == [0]
            files.fail_at = 0
            assert disk.append(log, b"y") == failed
    files.fail_at = 0
    assert failed > 3
    assert log.segments.base_offsets == [0, failed + 1]
    assert disk.append(log, b"z") == failed + 1


def full(size: int) -> int:
    raise OSError(errno.ENOSPC, "full")


def test_a_watcher_is_told_of_segments_that_come_and_go(disk: Any) -> None:
    log = disk.log()
    told: list[tuple[str, int, str]] = []

    def watch(kind: str, why: str, /, *, log: str, base_offset: int) -> None:
        told.append((kind, base_offset, why))

    log.open_files.segment_watcher = watch
    for each in (b"1", b"2", b"3"):
        disk.append(log, each)
        log.roll()
    assert [(kind, offset) for kind, offset, _ in told] == [("rolled", each) for each in (1, 2, 3)]
    told.clear()
    log.truncate_to(1)
    assert told == [("deleted", each, "it is truncated") for each in (3, 2)]
