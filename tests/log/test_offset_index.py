"""The offset index: bytes, and the position from which on to look."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import FILES
from kafkalite.log.offset_index import OffsetIndex
from tests.log.compacted import clean, put


def test_time_index_and_offset_index_are_kafkas(disk: Any) -> None:
    """Bytes by hand: one entry per interval, `relative offset, position` and `timestamp,
    offset`."""
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for i in range(3):
        disk.append(log, b"v", timestamp=disk.now_ms + i)
    size = log.size_bytes // 3
    log.close()
    directory = disk.root / "topic-0"
    entries = (directory / f"{0:020d}.index").read_bytes()
    assert entries == b"".join(
        offset.to_bytes(4) + (offset * size).to_bytes(4) for offset in (1, 2)
    )
    times = (directory / f"{0:020d}.timeindex").read_bytes()
    assert times == b"".join(
        (disk.now_ms + offset).to_bytes(8) + offset.to_bytes(4) for offset in (1, 2)
    )


@pytest.mark.parametrize("way", ["appended", "after a crash", "as a follower", "compacted"])
def test_little_is_to_be_looked_through_whatever_the_interval(disk: Any, way: str) -> None:
    """A Fetch goes through all that is between two entries in one go."""
    config = LogConfig(
        index_interval_bytes=2**31 - 1,
        cleanup_policy=("compact",) if way == "compacted" else ("delete",),
        min_cleanable_dirty_ratio=0.0,
    )
    log = disk.log(config=config)
    for number in range(40):
        put(disk, log, (b"%d" % number, bytes(10_000)))
    if way == "after a crash":
        log.close_files()
        log = disk.log(config=config)
    if way == "as a follower":
        whole = log.read(0, 1 << 20, upper_bound=log.log_end_offset).records.read()
        log = disk.log("topic-1", config=config)
        assert log.append_as_follower(whole) == 40
    if way == "compacted":
        log.roll()
        put(disk, log, (b"0", b"the last"))
        clean(log)
    first = next(iter(log.segments))
    found = [first.offset_index.lookup(offset)[1] for offset in range(40)]
    assert max(after - before for before, after in pairwise([*found, first.size])) < 150_000


ENTRIES = [(102, 500), (110, 900), (140, 4000)]


@pytest.fixture
def index(tmp_path: Path) -> OffsetIndex:
    """An index of a segment that begins at offset 100."""
    index = OffsetIndex(tmp_path, "100.index", 100, FILES)
    for offset, position in ENTRIES:
        index.append(offset, position)
    return index


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_a_lookup_begins_at_the_last_entry_before(index: OffsetIndex, is_on_disk: bool) -> None:
    if is_on_disk:
        index.write()
        index.unload()
    found = [index.lookup(offset) for offset in (0, 100, 101, 102, 109, 110, 139, 140, 2**62)]
    assert found == [
        *[(100, 0)] * 3,
        *[(102, 500)] * 2,
        *[(110, 900)] * 2,
        *[(140, 4000)] * 2,
    ]
    assert index.last() == (140, 4000)


def test_the_first_entry_behind_a_position(index: OffsetIndex) -> None:
    found = [index.offset_behind(position) for position in (0, 499, 500, 501, 4000, 4001)]
    assert found == [102, 102, 110, 110, 140, None]


@pytest.mark.parametrize(("offset", "left"), [(141, 3), (140, 2), (111, 2), (110, 1), (100, 0)])
def test_entries_at_or_behind_an_offset_are_dropped(
    index: OffsetIndex, offset: int, left: int
) -> None:
    index.truncate_to(offset)
    assert index.last() == ([(100, 0), *ENTRIES][left])
    index.write()
    assert index.path.read_bytes() == b"".join(
        (offset - 100).to_bytes(4) + position.to_bytes(4) for offset, position in ENTRIES[:left]
    )


def test_an_empty_index_looks_from_the_start(tmp_path: Path) -> None:
    index = OffsetIndex(tmp_path, "100.index", 100, FILES)
    assert (index.lookup(500), index.last(), index.offset_behind(0)) == ((100, 0), (100, 0), None)


def test_an_offset_far_behind_the_segment_is_looked_up(tmp_path: Path) -> None:
    index = OffsetIndex(tmp_path, "0.index", 0, FILES)
    index.append(2**31 - 1, 70)
    assert index.lookup(2**31 - 2) == (0, 0)
    assert index.lookup(2**40) == (2**31 - 1, 70)
