"""Deleted logs of a data directory, on their way off the disk.

A deleted log is offline at once. A later step renames its directory to `...-delete`, and its files
are removed after `file.delete.delay.ms`. After a crash the next start removes it: its topic is
deleted in the metadata, or its directory ends in `-delete`. Source: Kafka's LogManager.asyncDelete,
deleteLogs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from pathlib import Path

from kafkalite.log.disk_wait import DiskWait
from kafkalite.log.files import Files, deleted_directory, without_future
from kafkalite.log.log import Log
from kafkalite.log.said_once import SaidOnce
from kafkalite.wire.errors import KafkaError


class DeletedLogs:
    """The deleted logs of one data directory.

    `has_failed` tells that the directory does not work any more. `trouble` takes the errors of
    directories that cannot be removed yet.
    """

    def __init__(
        self,
        files: Files,
        *,
        now_ms: Callable[[], int],
        has_failed: Callable[[], bool],
        trouble: SaidOnce,
    ) -> None:
        self._files = files
        self._now_ms = now_ms
        self._has_failed = has_failed
        self._trouble = trouble
        # Logs whose files are still open. Each is freed in steps of its own, which takes time.
        self._open: list[Log] = []
        # Logs whose directories still have their names, and their names to come. An error names
        # both, and is said once.
        self._named: dict[Path, tuple[Log, Path]] = {}
        # A heap: (when to remove, path)
        self._renamed: list[tuple[int, Path]] = []

    def add(self, log: Log) -> None:
        """Take a log out of use; the next `move_away` renames its directory, closes its files."""
        log.offline_reason = "deleted"
        self._named[log.directory] = log, log.directory.with_name(deleted_directory(log.name))

    def add_directory(self, path: Path) -> None:
        """Remove a directory, renamed already, with the next `remove`."""
        heappush(self._renamed, (0, path))

    def discard(self, path: Path) -> None:
        """Rename a directory that belongs to no log, to be removed. Raises OSError."""
        target = path.with_name(deleted_directory(without_future(path.name)))
        self._files.rename(path, target)
        self.add_directory(target)

    def make_way(self, path: Path) -> None:
        """Free a deleted log's path for another. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        if path in self._named:
            self._rename(path)

    def move_away(self) -> Iterator[object]:
        """Rename the directories of the logs that were deleted, one a step; then close their
        files."""
        for path in list(self._named):
            log, _ = self._named.get(path, (None, None))
            if log is not None and not log.must_keep_name and not self._has_failed():
                with suppress(KafkaError):  # logged where it was raised, and tried again
                    self._rename(path)
            del log
            yield path
        while self._open:
            # It stays there until it is done, as this may be given up between two steps.
            log = self._open[-1]
            yield from log.letting_go()
            if log in self._open:
                self._open.remove(log)

    def _rename(self, path: Path) -> None:
        log, target = self._named[path]
        is_there = log.delete(target)
        del self._named[path]
        self._open.append(log)
        if is_there:
            heappush(self._renamed, (self._now_ms() + log.config.file_delete_delay_ms, target))

    def remove(self) -> Iterator[object]:
        """Remove the directories whose delay has passed; a step that can be called removes one.

        A thread may call it. A directory that cannot be removed is tried again the next time.
        """
        yield from self.move_away()
        now_ms = self._now_ms()
        failed: list[tuple[int, Path]] = []
        while self._renamed and self._renamed[0][0] <= now_ms:
            deadline_ms, path = heappop(self._renamed)
            removal = DiskWait(partial(remove_tree, self._files, path))
            yield removal
            removal()
            if removal.error is not None and not self._has_failed():
                self._trouble.failed(removal.error)
                failed.append((deadline_ms, path))
        for each in failed:
            heappush(self._renamed, each)


def remove_tree(files: Files, path: Path) -> None:
    """Remove a directory of files. Raises OSError."""
    for name in files.names(path):
        files.unlink(path / name)
    files.remove_directory(path)
