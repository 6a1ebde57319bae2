"""A segment is appended to: what fails leaves no trace, and an index entry needs its interval."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.files import Files
from tests.log.test_segment import SIZE, add, batch, made, names


class FailingFiles(Files):
    """Writes so many bytes, then fails, while it is told to."""

    written_before_failing = -1
    cannot_truncate = False

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if self.written_before_failing < 0:
            return super().pwrite(descriptor, data, position)
        os.pwrite(descriptor, data[: self.written_before_failing], position)
        raise OSError(errno.ENOSPC, "full")

    def truncate(self, descriptor: int, size: int) -> None:
        if self.cannot_truncate:
            raise OSError(errno.EIO, "broken")
        super().truncate(descriptor, size)


@pytest.mark.parametrize("written", [0, 10, SIZE])
def test_a_batch_that_fails_leaves_no_trace(tmp_path: Path, written: int) -> None:
    files = FailingFiles()
    segment = made(tmp_path, files=files)
    add(segment, 0)
    files.written_before_failing = written
    with pytest.raises(OSError, match="full"):
        add(segment, 1, timestamp=900)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == batch(0)
    assert (segment.size, segment.largest, segment.find(1)) == (SIZE, (100, 0), None)
    files.written_before_failing = -1
    add(segment, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == batch(0) + batch(1)


def test_the_next_batch_writes_over_one_that_could_not_be_cut_back(tmp_path: Path) -> None:
    files = FailingFiles()
    segment = made(tmp_path, files=files)
    add(segment, 0)
    files.written_before_failing, files.cannot_truncate = 10, True
    with pytest.raises(OSError, match="full"):
        add(segment, 1)
    files.written_before_failing = -1
    add(segment, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == batch(0) + batch(1)


def test_a_first_file_that_cannot_be_made_leaves_none(tmp_path: Path) -> None:
    files = FailingFiles()
    files.cannot_truncate = True
    segment = made(tmp_path, files=files)
    with pytest.raises(OSError, match="broken"):
        add(segment, 0)
    assert names(tmp_path) == []
    files.cannot_truncate = False
    add(segment, 0)
    assert segment.size == SIZE


def test_an_index_entry_needs_its_interval(tmp_path: Path) -> None:
    segment = made(tmp_path)
    for offset in range(6):
        data = batch(offset, 100 + offset)
        segment.append(b"", data, SIZE, offset, offset, 100 + offset, 2 * SIZE - 1)
    # An entry comes with the batch after the interval is full.
    assert [segment.offset_index.entry(i) for i in range(segment.offset_index.count)] == [
        (2, 2 * SIZE),
        (4, 4 * SIZE),
    ]
    assert segment.time_index.last() == (104, 4)
    segment.finish_indexes()
    assert segment.time_index.last() == (105, 5)


def test_what_is_written_later_may_be_taken_back(tmp_path: Path) -> None:
    segment = made(tmp_path)
    add(segment, 0, timestamp=300)
    before = segment.state
    for offset in (1, 2):
        segment.append_later(SIZE, offset, offset, 900, 0)
    assert (segment.size, segment.largest, segment.offset_index.count) == (3 * SIZE, (900, 1), 2)
    segment.take_back(before, 1)
    assert (segment.state, segment.offset_index.count, segment.find(1)) == (before, 0, None)
    add(segment, 1, timestamp=200)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == batch(0, 300) + batch(1, 200)
    assert segment.largest == (300, 0)
