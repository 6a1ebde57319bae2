"""Faults of the disk: errors, delays, and nothing in the way where there is no rule."""

from __future__ import annotations

import errno as errors
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.disk import DiskMatcher, FaultyFiles, SlowDisk, check_of, error_number
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.control.problems import Problem
from kafkalite.faults import delay, drop, errno, short
from kafkalite.log.files import FILES, UnsyncedFiles
from kafkalite.log.page_cache import NotCached, cached_only
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced

EIO, ENOSPC = errno("EIO"), errno("ENOSPC")
QUICKLY = {"delivery.timeout.ms": 1500, "socket.timeout.ms": 1000}


@pytest.mark.parametrize(
    ("when", "do", "said"),
    [
        ({"disk": "write", "api": "Produce"}, EIO, "operations on files have no api"),
        ({"disk": "write"}, drop.after, "drop cannot be done to a file"),
        ({"disk": "writes"}, EIO, "disk is one of read, write"),
        ({"api": "Produce"}, EIO, "need `disk`"),
        ({"file": "*.log"}, drop.after, "need `disk`"),
        ({"disk": "write"}, errno("EODD"), "no error 'EODD'"),
        ({"disk": ["write", "sync"]}, delay("1s"), "only read and sync can be slow, not write"),
        ({"disk": ["write", "sync"]}, short(3), "only read and write are short, not sync"),
        ({"api": "Produce"}, short(3), "need `disk`"),
    ],
)
def test_what_makes_no_sense_is_refused(when: dict[str, Any], do: Action, said: str) -> None:
    with pytest.raises(Problem, match=said):
        RuleBook(lambda: 0).add(Rule(when=When(**when), do=(do,)))


def test_criteria_of_files() -> None:
    path = Path("/data/d1/orders-3/00000000000000000000.log")
    assert DiskMatcher(When(disk="write")).missed("write", path) is None
    assert DiskMatcher(When(disk="write")).missed("sync", path) == ("disk", "sync")
    assert DiskMatcher(When(disk="*", topic="orders", partition=3)).missed("sync", path) is None
    assert DiskMatcher(When(disk="*", topic="other")).missed("sync", path) == ("topic", "orders")
    assert DiskMatcher(When(disk="*", file="*/d1/*.log")).missed("sync", path) is None
    assert DiskMatcher(When(disk="*", file="*/d2/*")).missed("sync", path) == ("file", str(path))


def test_without_a_check_the_files_are_the_ones_behind(tmp_path: Path) -> None:
    files = FaultyFiles(UnsyncedFiles())
    for name in ("pread", "pwrite", "rename"):
        assert name not in files.__dict__
    assert not files.waits_for_disk
    files.set_check(lambda operation, path: None)
    assert files.counts_writes
    assert "pwrite" in files.__dict__
    files.set_check(None)
    assert not files.counts_writes
    assert "pwrite" not in files.__dict__
    assert FaultyFiles(FILES).waits_for_disk
    files.write(tmp_path / "f", b"data")
    assert files.read(tmp_path / "f") == b"data"


@pytest.mark.parametrize("operation", ["read", "write", "sync", "open", "rename"])
def test_each_operation_fails_as_the_rule_says(tmp_path: Path, operation: str) -> None:
    book = RuleBook(lambda: 0)
    directory = tmp_path / "orders-0"
    directory.mkdir()
    path = directory / "f"
    path.write_bytes(b"data")
    files = FaultyFiles(UnsyncedFiles())
    rule = book.add(Rule(when=When(disk=operation, topic="orders"), do=(errno("ENOSPC"),)))
    files.set_check(check_of(book))

    def all_of_them() -> None:
        descriptor = files.open(path, os.O_RDWR)
        try:
            files.pwrite(descriptor, b"more", 0)
            files.sync(descriptor)
            files.pread(descriptor, 4, 0)
        finally:
            files.close(descriptor)
        files.rename(path, directory / "g")

    with pytest.raises(OSError, match="No space left") as failed:
        all_of_them()
    assert failed.value.errno == errors.ENOSPC
    assert rule.applied == 1
    assert rule.hits[0].api == f"disk {operation}"
    all_of_them()  # it was for once


def test_a_slow_read_does_not_hold_the_loop_up(tmp_path: Path) -> None:
    """Inside of `cached_only` it is for a thread, and the loop reads again then."""
    path = tmp_path / "f"
    path.write_bytes(b"data")
    book = RuleBook(lambda: 0)
    rule = book.add(Rule(when=When(disk="read"), do=(delay("50ms"),)))
    files = FaultyFiles(UnsyncedFiles())
    files.set_check(check_of(book))
    descriptor = files.open(path, os.O_RDONLY)
    with cached_only, pytest.raises(NotCached) as later:
        files.pread(descriptor, 4, 0)
    began = time.monotonic()
    later.value.read()
    assert time.monotonic() - began >= 0.05
    with cached_only:
        assert files.pread(descriptor, 4, 0) == b"data"
    files.close(descriptor)
    assert rule.applied == 1


@pytest.mark.parametrize("slowly", [False, True])
def test_a_short_operation_does_so_many_bytes(tmp_path: Path, slowly: bool) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"data")
    book = RuleBook(lambda: 0)
    files = FaultyFiles(UnsyncedFiles())
    book.add(Rule(when=When(disk="write"), do=(short(5),)))
    book.add(Rule(when=When(disk="read"), do=(short(3), *([delay("1ms")] if slowly else []))))
    files.set_check(check_of(book))
    descriptor = files.open(path, os.O_RDWR)
    assert files.pwrite(descriptor, b"onetwothree", 1) == 5
    assert path.read_bytes() == b"donetw"
    if slowly:
        with cached_only, pytest.raises(NotCached):
            files.pread(descriptor, 6, 0)
    with cached_only:
        assert files.pread(descriptor, 6, 0) == b"don"
    assert files.pread(descriptor, 6, 0) == b"donetw"
    assert files.pwrite(descriptor, b"three", 0) == 5
    files.close(descriptor)


def test_a_batch_that_is_torn_is_written_again_or_cut_off() -> None:
    with broker(profile="test") as k:
        k.create_topic("t")
        assert produced(k, "t", b"whole") == [None]
        # The client tries again when the disk has room again.
        k.fault(disk="write", file="*.log", topic="t", sequence=[[short(20)], [ENOSPC]])
        assert produced(k, "t", b"again") == [None]
        k.fault(disk="write", file="*.log", topic="t", sequence=[[short(20)], [EIO]])
        (failed,) = produced(k, "t", b"torn", **QUICKLY)
        assert failed is not None
        assert [each.applied for each in k.faults.list()] == [2, 2]
        k.faults.clear()
        k.restart(unclean=True)
        assert produced(k, "t", b"after") == [None]
        assert [each.value for each in k.records("t")] == ["whole", "again", "after"]
        # A short write alone harms nothing: the rest is written by the next one.
        k.fault(disk="write", file="*.log", topic="t", do=short(1))
        assert produced(k, "t", b"in two parts") == [None]
        assert k.records("t")[-1].value == "in two parts"


def test_delays_add_up() -> None:
    book = RuleBook(lambda: 0)
    for _ in range(2):
        book.add(Rule(when=When(disk="sync"), do=(delay("1s"),)))
    with pytest.raises(SlowDisk) as slow:
        check_of(book)("sync", Path("f"))
    assert slow.value.seconds == 2
    assert error_number("EIO") == errors.EIO


def test_a_broken_disk_takes_the_directory_offline() -> None:
    with broker(profile="test") as k:
        k.create_topic("t")
        assert produced(k) == [None]
        k.fault(disk="write", topic="t", do=EIO)
        (failed,) = produced(k, **QUICKLY)
        assert failed is not None
        assert "Input/output error" in k.events("log.offline")[0].why
        k.faults.clear()
        k.restart(unclean=True)
        assert produced(k) == [None]
        assert len(k.records("t")) == 2


def test_a_fault_that_never_came_says_what_came_instead() -> None:
    with broker(profile="test") as k:
        k.create_topic("t")
        k.fault(disk="write", topic="other", do=EIO)
        assert produced(k) == [None]
        (said,) = k.faults.unfired()
        assert "operations on files came" in said
        assert "not 'other'" in said
        k.reset()
        k.create_topic("other")
        assert produced(k, "other") == [None]
