"""A data directory's `.lock`: held by the living broker that uses the directory.

It is the lock that Java's FileChannel.tryLock takes, so Kafka and kafkalite keep each other out.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kafkalite.log.errors import DataDirectoryInUse
from kafkalite.log.files import LOCK

# fcntl's locks do not hold within a process: this tells apart several brokers in one.
_locked_here: set[Path] = set()


class DirectoryLock:
    """The lock of one data directory, held until `release`. Made by `DirectoryLock.take`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> DirectoryLock:
        """Lock the directory at a resolved path. Raises DataDirectoryInUse, OSError."""
        if path in _locked_here:
            raise DataDirectoryInUse(f"{path} is in use by a broker in this process")
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise DataDirectoryInUse(f"{path} is in use by another broker") from error
        _locked_here.add(path)
        return cls(path, descriptor)

    def release(self) -> None:
        """Unlock; releasing twice is no error."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _locked_here.discard(self._path)
            os.close(descriptor)


def is_locked_here(path: Path) -> bool:
    """True if a broker in this process holds the directory.

    To open the file and ask would give up the lock when the file is closed.
    """
    return path.resolve() in _locked_here
