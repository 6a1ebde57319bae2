"""Files open while they are used, within the limit; slices that outlive their segments."""

import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log import open_files
from kafkalite.log.config import LogConfig
from kafkalite.log.open_files import (
    FileSlice,
    LogFile,
    OpenFiles,
    close_slices,
    default_limit,
)
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


def made(tmp_path: Path, open_files: OpenFiles, count: int) -> list[LogFile]:
    files: list[LogFile] = []
    for i in range(count):
        path = tmp_path / f"file-{i}"
        path.write_bytes(b"%d" % i * 10)
        files.append(LogFile(path.parent, path.name, open_files))
    return files


def test_brokers_of_one_process_share_its_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A successor opens its files while those of the other are still open."""
    most = 2 * (open_files._shared.count + 100)  # other tests have left files open
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    first, second = OpenFiles(), OpenFiles()
    theirs = made(tmp_path, first, 150)
    for file in theirs:
        file.descriptor()
    ours = made(tmp_path, second, 150)
    for file in ours:
        file.descriptor()
    assert len(first) == 100
    assert len(second) == 16
    for file in theirs:
        file.close()
    for file in ours:
        file.descriptor()
    assert len(second) == 100
    for file in ours:
        file.close()
    assert second.limit == 100


def test_a_slice_of_a_file_that_is_gone_is_refused_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = made(tmp_path, OpenFiles(), 1)
    (tmp_path / "file-0").unlink()
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(FileNotFoundError):
        FileSlice(file, 0, 5)
    gc.collect()
    assert ignored == []


def open_here(tmp_path: Path) -> set[str]:
    """The names of the files under a path that this process has open."""
    found: set[str] = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = descriptor.readlink()
            if target.parent == tmp_path:
                found.add(target.name)
    return found


def test_files_are_opened_when_used_and_closed_over_the_limit(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=3)
    files = made(tmp_path, open_files, 6)
    assert open_here(tmp_path) == set()
    for i, file in enumerate(files):
        assert file.pread(2, 3) == b"%d" % i * 2
    assert len(open_files) == len(open_here(tmp_path)) == 3
    assert files[0].pread(1, 0) == b"0"  # opened again
    assert len(open_files) == 3


def test_a_file_in_use_is_spared(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=3)
    files = made(tmp_path, open_files, 10)
    for i, file in enumerate(files):
        file.descriptor()
        if i:
            files[0].descriptor()  # used again and again
    assert "file-0" in open_here(tmp_path)


def test_few_files_are_looked_at_where_all_were_used(tmp_path: Path) -> None:
    """An open of one file would take 50 ms with ten thousand others."""
    open_files = OpenFiles(limit=400)
    *files, another = made(tmp_path, open_files, 401)
    for file in files:
        file.pread(1, 0)
    another.pread(1, 0)
    assert len(open_files) == 400
    assert sum(not file.used for file in files) < 50


def test_few_files_are_looked_at_where_all_are_in_use(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=400)
    *files, another = made(tmp_path, open_files, 401)
    for file in files:
        file.pread(1, 0)
        file.retain()
    another.pread(1, 0)
    assert len(open_files) == 401
    assert sum(not file.used for file in files) < 150


def test_slices_hold_their_files_open_beyond_the_limit(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=2)
    files = made(tmp_path, open_files, 5)
    slices = [FileSlice(file, 0, 5) for file in files]
    assert len(open_here(tmp_path)) == 5
    for file in files:
        file.close()
    assert len(open_here(tmp_path)) == 5
    for i, each in enumerate(slices):
        assert each.read() == b"%d" % i * 5
        each.close()
    assert open_here(tmp_path) == set()
    assert len(open_files) == 0


def test_a_dropped_slice_lets_its_file_go(tmp_path: Path) -> None:
    [file] = made(tmp_path, OpenFiles(), 1)
    held = FileSlice(file, 0, 5)
    assert file.in_use
    del held
    assert not file.in_use


def test_a_slice_is_sent_in_pieces_and_closed_once(tmp_path: Path) -> None:
    [file] = made(tmp_path, OpenFiles(), 1)
    file.write(b"abcdefghij", 0)
    first, second = FileSlice(file, 2, 6), FileSlice(file, 0, 1)
    first.advance(4)
    assert (first.position, len(first), first.read()) == (6, 2, b"gh")
    first.close()
    first.close()
    assert file.in_use  # by the second
    with pytest.raises(ValueError, match="closed"):
        first.fileno()
    with pytest.raises(ValueError, match="closed"):
        first.read()
    second.close()
    assert not file.in_use


def test_a_slice_of_a_truncated_file_is_shorter(tmp_path: Path) -> None:
    [file] = made(tmp_path, OpenFiles(), 1)
    with FileSlice(file, 2, 6) as held:
        file.truncate(5)
        assert held.read() == b"000"


def test_chunks_are_given_back_and_others_are_left(tmp_path: Path) -> None:
    files = made(tmp_path, OpenFiles(), 2)
    close_slices([b"head", FileSlice(files[0], 0, 1), b"", FileSlice(files[1], 0, 1)])
    assert not files[0].in_use
    assert not files[1].in_use


def test_a_file_that_vanished_does_not_come_back_empty(tmp_path: Path) -> None:
    file = LogFile(tmp_path, "missing", OpenFiles())
    with pytest.raises(FileNotFoundError):
        file.write(b"x", 0)
    assert not file.path.exists()
    file.create()
    file.write(b"x", 0)
    assert file.path.read_bytes() == b"x"


def test_a_renamed_file_is_the_same(tmp_path: Path) -> None:
    [file] = made(tmp_path, OpenFiles(), 1)
    assert file.pread(1, 0) == b"0"
    file.rename(tmp_path, "renamed")
    file.close()
    assert file.pread(1, 0) == b"0"
    assert not (tmp_path / "file-0").exists()


def test_half_of_the_descriptors_are_for_files() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert default_limit() == max(16, soft // 2)
