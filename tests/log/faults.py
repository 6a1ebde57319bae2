"""A disk that fails at the n-th operation, or a process that ends there."""

import errno
import os
from collections.abc import Callable, Sequence
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

    def pwritev(self, descriptor: int, buffers: Sequence[Any], position: int) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwritev(descriptor, buffers, position)


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
        """As the end of a process does."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()

    def pwritev(self, descriptor: int, buffers: Sequence[Any], position: int) -> int:
        data = b"".join(bytes(buffer) for buffer in buffers)
        size = self._operation(len(data))
        return super().pwritev(descriptor, (data[:size],), position)

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
