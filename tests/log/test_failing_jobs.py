"""Every job in the background, and every operation on the disk that it makes: each fails once.

The operations are those that a job makes on a healthy disk, so that a new one is failed, too. A job
goes on with the other data directory, and says what is wrong. With EIO the directory, or the log,
is offline. With a full disk all is as before once there is room.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import Waits, run_steps, without_threads
from kafkalite.log.files import UnsyncedFiles
from kafkalite.log.flushing import Flush
from kafkalite.log.future_log import LogMove
from kafkalite.log.log import Log
from kafkalite.log.manager import LogManager
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch
from tests.log.directories import NOW_MS, open_directory

OPERATIONS = (
    "open",
    "pread",
    "pwrite",
    "sync",
    "truncate",
    "size",
    "modified_ms",
    "set_modified_ms",
    "names",
    "rename",
    "unlink",
    "make_directory",
    "remove_directory",
    "sync_directory",
)
SMALL = {"segment_bytes": 400, "file_delete_delay_ms": 0}
CONFIGS = {
    "short": LogConfig(retention_bytes=500, **SMALL),
    "old": LogConfig(retention_ms=1, **SMALL),
    "table": LogConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.01, **SMALL),
    "gone": LogConfig(**SMALL),
    "due": LogConfig(flush_ms=0, **SMALL),
}


class FaultyFiles(UnsyncedFiles):
    """Notes the operations that are made while `is_on`; `failing` fails with `error`.

    Nothing is synced, as no power is lost here.
    """

    waits_for_disk = True

    def __init__(self) -> None:
        self.is_on = False
        self.made: set[str] = set()
        self.failing = ""
        self.error = 0
        for operation in OPERATIONS:
            setattr(self, operation, self._watched(operation))

    def _watched(self, operation: str) -> Any:
        whole = getattr(super(), operation)

        def watched(*arguments: Any) -> Any:
            if self.is_on:
                self.made.add(operation)
                if operation == self.failing:
                    raise OSError(self.error, os.strerror(self.error))
            return whole(*arguments)

        return watched


class World:
    """Two data directories with the same logs; the first one's disk may fail."""

    def __init__(self, root: Path) -> None:
        self.files = FaultyFiles()
        self.is_told = False
        sick = open_directory(root / "sick", open_files=OpenFiles(files=self.files))
        sound = open_directory(root / "sound", open_files=OpenFiles(files=UnsyncedFiles()))
        self.manager = LogManager([sick, sound])
        self.sick, self.sound = self.manager.directories
        for name, config in CONFIGS.items():
            for partition in (0, 1):
                log = self.manager.open_log(name, partition, config)
                for number in range(20):
                    append(log, number)
        assert len(self.sick.logs) == len(self.sound.logs)
        self.cleaner = Cleaner(self.manager.directories)

    def close(self) -> None:
        self.files.is_on = False
        self.manager.close()


def append(log: Log, number: int) -> None:
    record = Record(timestamp=NOW_MS, key=b"%d" % (number % 3), value=bytes(40))
    log.append(build_batch([record]), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)


def take(steps: Iterator[object]) -> None:
    """All steps, those that wait for a disk too."""
    for step in steps:
        if callable(step):
            step()


def unlink(world: World) -> None:
    """The segments that retention has renamed."""
    was_on, world.files.is_on = world.files.is_on, False
    take(world.manager.retention())
    world.files.is_on = was_on
    take(world.manager.unlink_deleted())


def run_flush(flush_: Flush | None) -> None:
    if flush_ is not None:
        try:
            flush_.run()
        except OSError as error:
            flush_.fail(error)
        else:
            flush_.complete()


def flush(world: World) -> None:
    for each in (*world.manager.flushes_due(NOW_MS), *world.manager.rolled()):
        run_flush(each)


def delete(world: World) -> None:
    for partition in (0, 1):
        if world.manager.get("gone", partition) is not None:
            world.manager.delete_log("gone", partition)
    take(world.manager.unlink_deleted())


def clean(world: World) -> None:
    for _ in CONFIGS:
        run_steps(world.cleaner.clean())


def no_metadata(directory: LogDirectory) -> Waits[None]:
    yield from ()


def move(world: World) -> None:
    """A log goes from the directory that may fail to the other one, and one comes."""
    moves: list[LogMove] = []
    for source, target in ((world.sick, world.sound), (world.sound, world.sick)):
        key = next((key for key in source.logs if key[0] == "due"), None)
        if key is not None and key not in world.manager.moves:
            try:
                moves.append(world.manager.begin_move(*key, target))
            except KafkaError:  # the client that asks for the move hears of it
                world.is_told = True
                continue
    for each in moves:
        try:
            while not each.is_caught_up:
                each.step()
            run_flush(each.begin_flush())
            finishing = world.manager.finishing_move(each, no_metadata, lambda _: None)
            without_threads(finishing)
        except KafkaError:
            world.manager.cancel_move(*each.key)


JOBS: dict[str, Callable[[World], None]] = {
    "retention": lambda world: take(world.manager.retention()),
    "unlinking": unlink,
    "checkpoint": lambda world: take(world.manager.checkpoint()),
    "producers": lambda world: take(world.manager.remove_expired_producers(0)),
    "flush": flush,
    "deletion": delete,
    "cleaner": clean,
    "move": move,
}


def operations_of(job: Callable[[World], None], root: Path) -> list[str]:
    """The operations that a job makes while all is well."""
    world = World(root)
    world.files.is_on = True
    job(world)
    world.close()
    return sorted(world.files.made)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", JOBS)
def test_a_job_outlives_each_of_its_operations(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, number: int
) -> None:
    job = JOBS[name]
    operations = operations_of(job, tmp_path / "healthy")
    assert operations or name == "producers"
    for operation in operations:
        world = World(tmp_path / operation)
        world.files.failing, world.files.error = operation, number
        caplog.clear()
        world.files.is_on = True
        job(world)
        world.files.is_on = False
        assert caplog.records or world.is_told, f"{operation} is not said"
        assert world.sound.failure is None
        for log in world.sound.logs.values():
            append(log, 0)
        world.files.failing = ""
        if world.sick.failure is None:
            job(world)
            for log in world.sick.logs.values():
                if log.offline_reason is None:
                    append(log, 0)
        if number == errno.ENOSPC and name != "cleaner":
            assert world.sick.failure is None, operation
        world.close()
