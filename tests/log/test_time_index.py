"""The time index: the largest timestamps so far, and the offsets from which on to look."""

from pathlib import Path

import pytest

from kafkalite.log.files import FILES
from kafkalite.log.time_index import TimeIndex

ENTRIES = [(1000, 102), (1500, 110), (9000, 140)]


@pytest.fixture
def index(tmp_path: Path) -> TimeIndex:
    """An index of a segment that begins at offset 100."""
    index = TimeIndex(tmp_path, "100.timeindex", 100, FILES)
    for timestamp, offset in ENTRIES:
        index.maybe_append(timestamp, offset)
    return index


def test_the_bytes_are_kafka_s(index: TimeIndex) -> None:
    index.write()
    assert index.path.read_bytes() == b"".join(
        timestamp.to_bytes(8) + (offset - 100).to_bytes(4) for timestamp, offset in ENTRIES
    )


def test_timestamps_ascend(index: TimeIndex) -> None:
    index.maybe_append(9000, 150)
    index.maybe_append(8999, 151)
    assert (index.count, index.last()) == (3, (9000, 140))
    index.maybe_append(9001, 152)
    assert (index.count, index.last()) == (4, (9001, 152))


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_a_lookup_begins_at_the_last_entry_that_is_not_later(
    index: TimeIndex, is_on_disk: bool
) -> None:
    if is_on_disk:
        index.write()
        index.unload()
    found = [index.lookup(timestamp) for timestamp in (0, 999, 1000, 1499, 1500, 2**62)]
    assert found == [(-1, 100), (-1, 100), (1000, 102), (1000, 102), (1500, 110), (9000, 140)]


@pytest.mark.parametrize(("offset", "left"), [(141, 3), (140, 2), (110, 1), (102, 0)])
def test_entries_at_or_behind_an_offset_are_dropped(
    index: TimeIndex, offset: int, left: int
) -> None:
    index.truncate_to(offset)
    assert index.count == left
    assert index.last() == [(-1, 100), *ENTRIES][left]


def test_an_empty_index(tmp_path: Path) -> None:
    index = TimeIndex(tmp_path, "100.timeindex", 100, FILES)
    assert index.last() == index.lookup(10**12) == (-1, 100)
    index.maybe_append(-1, 105)  # no timestamp at all
    assert index.count == 0
