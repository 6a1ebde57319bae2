"""A move to another data directory is cut short at each of its operations."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import DiskWait, Waits
from kafkalite.log.files import Files
from kafkalite.log.manager import LogManager
from kafkalite.wire.errors import KafkaError
from tests.log.conftest import read_all
from tests.log.faults import Crash, FaultyFiles
from tests.log.test_future_log import CONFIG, append, begin, carry, opened


class Story:
    """Appends while the log moves from `a` to `b`; what was appended, and where it is said to
    lie."""

    def __init__(self, root: Path, files: Files) -> None:
        self.root = root
        self.files = files
        self.values: list[bytes] = []
        self.attempted: list[bytes] = []
        self.assigned: list[str] = []
        self.manager: LogManager | None = None

    def append(self, *values: bytes) -> None:
        assert self.manager is not None
        log = self.manager.get("t", 0)
        assert log is not None
        self.attempted = [*self.values, *values]
        with suppress(KafkaError):
            append(log, *values)
            self.values = self.attempted

    def assign(self, directory: LogDirectory) -> Waits[None]:
        yield DiskWait(lambda: None)
        self.assigned.append(directory.directory_id)

    def tell(self) -> None:
        self.manager = manager = opened(self.root, self.files)
        log, target = begin(manager)
        self.assigned.append(manager.directories[0].directory_id)
        for i in range(8):
            self.append(b"%100d" % i, b"x")
        log.flush()
        move = manager.begin_move("t", 0, target)
        move.step()
        self.append(b"while it moves")
        flush = move.begin_flush()
        if flush is not None:
            flush.run()
            flush.complete()
        while not move.has_finished:
            while not move.is_caught_up:
                move.step()
            for _ in manager.finishing_move(move, self.assign, lambda log: None):
                self.append(b"while the disk is waited for")
        self.append(b"%300d" % 1, b"after")
        self.append(b"%300d" % 2)
        manager.close()

    def check(self) -> None:
        manager = opened(self.root)
        manager.stored_partitions()
        log = manager.open_log("t", 0, CONFIG, assigned=self.assigned[-1:])
        manager.resume_moves()
        found = [record.value for record in read_all(log)]
        assert found in (self.values, self.attempted)
        for move in list(manager.moves.values()):
            log = carry(manager, move, self.assigned)
            assert [record.value for record in read_all(log)] == found
        list(manager.unlink_deleted())
        assert len(list(self.root.glob("*/t-0*"))) == 1
        manager.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as path:
        yield Path(path)


def count_operations(memory: Path) -> int:
    files = FaultyFiles()
    story = Story(memory / "whole", files)
    story.tell()
    story.check()
    assert len(story.assigned) == 2
    return files.count


@pytest.mark.slow
def test_the_process_dies_at_the_nth_operation(memory: Path) -> None:
    count = count_operations(memory)
    assert count > 60
    for n in range(15, count + 1):  # before it are the directories themselves
        root = memory / "disk"
        files = FaultyFiles()
        files.fail_at, files.fault = n, files.die
        story = Story(root, files)
        with pytest.raises(Crash):
            story.tell()
        files.close_all()
        for directory in story.manager.directories if story.manager is not None else ():
            directory._lock.release()  # as the end of a process does
        try:
            if story.assigned:
                story.check()
        except BaseException as error:
            error.add_note(f"operation {n} of {count}")
            raise
        shutil.rmtree(root)


def no_space(size: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def broken(size: int) -> int:
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [no_space, broken])
def test_the_nth_operation_fails(memory: Path, fault: Callable[[int], int]) -> None:
    count = count_operations(memory)
    for n in range(15, count + 1):
        root = memory / "disk"
        files = FaultyFiles()
        files.fail_at, files.fault = n, fault
        story = Story(root, files)
        try:
            with suppress(KafkaError, OSError):
                story.tell()
            if story.manager is not None:
                with suppress(KafkaError, OSError):
                    story.manager.close()
                if story.assigned:
                    story.check()
        except BaseException as error:
            error.add_note(f"operation {n} of {count}")
            raise
        shutil.rmtree(root)
