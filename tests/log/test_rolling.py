"""A new segment begins: by size, time, offset or a full index."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig


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


def test_roll_when_the_index_is_full(disk: Any) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0, segment_index_bytes=48))
    for i in range(10):
        disk.append(log, b"x", timestamp=disk.now_ms + i)
    assert log.segments.base_offsets == [0, 4, 8]


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
