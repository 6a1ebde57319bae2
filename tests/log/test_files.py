"""File names are Kafka's; files are written whole, however the disk writes."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.log.files import (
    FILES,
    SEGMENT_SUFFIXES,
    Files,
    UnsyncedFiles,
    deleted_directory,
    future_directory,
    is_deleted_directory,
    parse_partition_directory,
    parse_segment_file,
    segment_file,
    stray_directory,
    without_future,
    write_all,
)
from tests.log.faults import Crash, FaultyFiles


@given(
    st.integers(0, 2**63 - 1),
    st.sampled_from([*SEGMENT_SUFFIXES, ".snapshot"]),
    st.sampled_from(["", ".deleted", ".cleaned", ".swap"]),
)
def test_a_segment_file_s_name_says_what_it_is(offset: int, suffix: str, second: str) -> None:
    path = segment_file(Path("/data/t-0"), offset, suffix, second)
    assert path.parent == Path("/data/t-0")
    if offset < 10**20:
        assert parse_segment_file(path.name) == (offset, suffix, second)


def test_a_segment_file_s_name_is_kafka_s() -> None:
    path = segment_file(Path("t-0"), 1234, ".index", ".cleaned")
    assert str(path) == "t-0/00000000000000001234.index.cleaned"


@pytest.mark.parametrize(
    "name",
    [
        "leader-epoch-checkpoint",
        "1234.log",
        "00000000000000001234",
        "00000000000000001234.log.gone",
        "00000000000000001234.log.swap.tmp",
        "x00000000000000001234.log",
    ],
)
def test_other_files_are_no_segment_s(name: str) -> None:
    assert parse_segment_file(name) is None


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-12", ("a-b", 12)),
        ("__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("orders", None),
        ("orders-", None),
        ("-0", None),
        ("orders-x", None),
        ("orders-1\N{SUPERSCRIPT TWO}", None),
        ("orders-0.5ad1-delete", None),
        ("orders-0.5ad1-future", None),
    ],
)
def test_a_partition_s_directory(name: str, parsed: tuple[str, int] | None) -> None:
    assert parse_partition_directory(name) == parsed


def test_a_future_directory_is_told_from_others() -> None:
    name = future_directory("a.b-c", 3)
    assert parse_partition_directory(name) is None
    assert without_future(name) == "a.b-c-3"
    assert without_future("a.b-c-3") == "a.b-c-3"
    assert without_future("t-0.5ad1-delete") == "t-0.5ad1-delete"
    assert future_directory("a.b-c", 3) != name


@pytest.mark.parametrize(
    ("made", "suffix"), [(deleted_directory, "-delete"), (stray_directory, "-stray")]
)
def test_a_marked_directory_s_name_fits_the_file_system(
    tmp_path: Path, made: Any, suffix: str
) -> None:
    name = made("t" * 249 + "-12345")
    assert len(name) == 255
    assert name.endswith(suffix)
    assert ".".join(name.split(".")[:-1]).endswith("t-12345")
    (tmp_path / name).mkdir()
    assert made("orders-0").startswith("orders-0.")
    assert parse_partition_directory(name) is None
    assert is_deleted_directory(name) == (made is deleted_directory)


@pytest.mark.parametrize("name", ["to-delete", "t-0-delete", "t.x-delete", "t-0.5ad1-delete-not"])
def test_no_other_directory_is_a_deleted_log_s(name: str) -> None:
    assert not is_deleted_directory(name)


class ShortFiles(Files):
    """Writes one byte less than asked for, if that is any."""

    def __init__(self) -> None:
        self.calls = 0

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        self.calls += 1
        return super().pwrite(descriptor, data[: max(1, len(data) - 1)], position)


def test_short_writes_go_on_until_all_is_written(tmp_path: Path) -> None:
    files = ShortFiles()
    path = tmp_path / "file"
    descriptor = files.open(path, os.O_RDWR | os.O_CREAT)
    write_all(files, descriptor, b"abcde", 3)
    files.close(descriptor)
    assert path.read_bytes() == b"\0\0\0abcde"
    assert files.calls == 2


def test_a_whole_file_is_written_in_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    FILES.write(path, b"a long old content")
    FILES.write(path, b"new")
    assert FILES.read(path) == b"new"
    large = os.urandom((2 << 20) + 5)
    FILES.write(path, large)
    assert FILES.read(path) == large


def test_an_atomic_write_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: set[bytes] = set()
    for n in range(1, 10):
        files = FaultyFiles()
        files.fail_at, files.fault = n, files.die
        try:
            files.write_atomically(path, b"new content")
        except Crash:
            files.close_all()
        else:
            break
        seen.add(path.read_bytes())
        path.write_bytes(b"old")
    assert seen == {b"old", b"new content"}
    assert path.read_bytes() == b"new content"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_files_that_are_not_there_need_no_unlink_and_no_sync(tmp_path: Path) -> None:
    FILES.unlink(tmp_path / "missing")
    FILES.sync_file(tmp_path / "missing")
    assert not FILES.exists(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        FILES.read(tmp_path / "missing")


def test_times_are_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    FILES.set_modified_ms(path, 1_700_000_000_123)
    assert FILES.modified_ms(path) == 1_700_000_000_123


def test_unsynced_files_wait_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("this waits for the disk")

    for name in ("fsync", "fdatasync", "sync"):
        monkeypatch.setattr(os, name, refuse)
    files = UnsyncedFiles()
    files.write_atomically(tmp_path / "file", b"x")
    files.sync_file(tmp_path / "file")
    files.sync_everything()
    assert files.read(tmp_path / "file") == b"x"
