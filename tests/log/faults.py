"""Disks that fail, are full, or lose power; processes that end at the n-th operation."""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkalite.log.files import Files


class Crash(BaseException):
    """The process is gone. No Exception: nothing may catch it."""


class PromptFiles(Files):
    """Waits for no disk: these processes do not really die."""

    def sync(self, descriptor: int) -> None:
        return

    def sync_directory(self, path: Path) -> None:
        return


class FullFiles(Files):
    """A disk that may be full."""

    is_full = False

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwrite(descriptor, data, position)


class RecordedFiles(Files):
    """Knows the sizes of all writes."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        self.written.append(len(data))
        return super().pwrite(descriptor, data, position)


class FaultyFiles(PromptFiles):
    """Counts operations; the n-th calls `fault`, which raises, or returns how many bytes to
    write."""

    def __init__(self) -> None:
        self.count = 0
        self.fail_at = 0
        self.fault: Callable[[int], int] = lambda size: size
        self.is_dead = False
        self.descriptors: set[int] = set()

    def _operation(self, size: int = 0) -> int:
        if self.is_dead:  # whatever cleans up on the way out comes too late
            raise Crash
        self.count += 1
        return self.fault(size) if self.count == self.fail_at else size

    def die(self, size: int) -> int:
        self.is_dead = True
        raise Crash

    def close(self, descriptor: int) -> None:
        if not self.is_dead:
            self.descriptors.remove(descriptor)
            super().close(descriptor)

    def close_all(self) -> None:
        """Close all descriptors, as the end of a process does."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        size = self._operation(len(data))
        return super().pwrite(descriptor, data[:size], position)

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT:
            self._operation()
        descriptor = super().open(path, flags)
        self.descriptors.add(descriptor)
        return descriptor

    def sync(self, descriptor: int) -> None:
        self._operation()
        super().sync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        self._operation()
        super().truncate(descriptor, size)

    def rename(self, source: Path, target: Path) -> None:
        self._operation()
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self._operation()
        super().unlink(path)

    def sync_directory(self, path: Path) -> None:
        self._operation()
        super().sync_directory(path)


class PowerlessFiles(FaultyFiles):
    """Knows what is on the disk, and not only in the page cache.

    Contents are there since the last fsync of the file, names since the last fsync of the
    directory; what came later may be there or not: names in the order of their operations, bytes
    from the front.
    """

    def __init__(self) -> None:
        super().__init__()
        self.contents: dict[int, bytes] = {}
        self.names_on_disk: dict[Path, int] = {}
        self.pending: list[tuple[Path, Path | None, int]] = []
        # One open for each file, so that no inode number comes twice.
        self._held: dict[int, int] = {}

    def open(self, path: Path, flags: int) -> int:
        is_new = bool(flags & os.O_CREAT) and not path.exists()
        descriptor = super().open(path, flags)
        if is_new:
            inode = os.fstat(descriptor).st_ino
            self._held[inode] = os.open(path, os.O_RDONLY)
            self.contents[inode] = b""
            self.pending.append((path, None, inode))
        return descriptor

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        inode = os.fstat(descriptor).st_ino
        self.contents[inode] = os.pread(self._held[inode], 1 << 24, 0)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self.pending.append((source, target, 0))

    def unlink(self, path: Path) -> None:
        was_there = path.exists()
        super().unlink(path)
        if was_there:
            self.pending.append((path, None, -1))

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        later: list[tuple[Path, Path | None, int]] = []
        for operation in self.pending:
            if operation[0].parent == path:
                self._apply(self.names_on_disk, operation)
            else:
                later.append(operation)
        self.pending = later

    @staticmethod
    def _apply(names: dict[Path, int], operation: tuple[Path, Path | None, int]) -> None:
        path, target, inode = operation
        if target is not None:
            if path in names:
                names[target] = names.pop(path)
        elif inode < 0:
            names.pop(path, None)
        else:
            names[path] = inode

    def lose_power(self, root: Path, target: Path, chance: random.Random) -> None:
        """Make `target` what is found of `root` when the power is back."""
        names = dict(self.names_on_disk)
        for operation in self.pending[: chance.randint(0, len(self.pending))]:
            self._apply(names, operation)
        for path, inode in names.items():
            on_disk = self.contents[inode]
            in_cache = os.pread(self._held[inode], 1 << 24, 0)
            if in_cache.startswith(on_disk) and chance.random() < 0.7:
                on_disk = in_cache[: chance.randint(len(on_disk), len(in_cache))]
                if chance.random() < 0.3:  # the size was written, the bytes were not
                    on_disk += bytes(chance.randint(0, len(in_cache) - len(on_disk)))
            found = target / path.relative_to(root)
            found.parent.mkdir(parents=True, exist_ok=True)
            found.write_bytes(on_disk)

    def close_all(self) -> None:
        super().close_all()
        for held in self._held.values():
            os.close(held)
