"""Faults of the disk: operations on files that fail, or take their time.

A rule with `disk` is shown each operation of that kind, instead of requests. The files of a cluster
are `FaultyFiles`. Without such a rule their methods are those of the files behind them.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Final

from kafkalite.control.durations import seconds
from kafkalite.control.faults.criteria import predicate
from kafkalite.control.problems import Problem
from kafkalite.log import page_cache
from kafkalite.log.files import Files, parse_partition_directory, without_future

if TYPE_CHECKING:
    from kafkalite.control.faults.book import RuleBook
    from kafkalite.control.faults.rule import Rule, When

OPERATIONS: Final = ("read", "write", "sync", "open", "rename")
_KINDS: Final = frozenset({"errno", "short", "delay", "count"})
# Threads may wait for these operations. The loop waits for the others itself.
_MAY_BE_SLOW: Final = frozenset({"read", "sync"})
# Operations that can take or give less than all bytes.
_MAY_BE_SHORT: Final = frozenset({"read", "write"})
_CRITERIA: Final = frozenset({"disk", "file", "topic", "partition", "after"})

# Shown an operation and its file; the bytes that it does at most, None for all.
Check = Callable[[str, Path], int | None]


def check_disk_rule(rule: Rule) -> None:
    """Raises Problem if a rule mixes requests with the disk, or asks for what a disk cannot do."""
    when = rule.when
    actions = rule.all_actions
    for action in actions:
        if action.errno is not None:
            error_number(action.errno)
    if when.disk is None:
        of_files = any(each.kind in ("errno", "short") for each in actions)
        if when.file is not None or of_files:
            raise Problem("invalid_fault", "errors of files need `disk`: the operation that fails")
        return
    operations = predicate(when.disk, field="disk")
    if not any(map(operations, OPERATIONS)):
        raise Problem("invalid_fault", f"disk is one of {', '.join(OPERATIONS)}", value=when.disk)
    others = [
        name
        for name in when.__struct_fields__
        if name not in _CRITERIA and getattr(when, name) not in (None, {})
    ]
    if others:
        raise Problem("invalid_fault", f"operations on files have no {', '.join(others)}")
    for action in actions:
        if action.kind not in _KINDS:
            raise Problem("invalid_fault", f"{action.kind} cannot be done to a file")
        slow = [each for each in OPERATIONS if each not in _MAY_BE_SLOW and operations(each)]
        if action.delay is not None and slow:
            raise Problem("invalid_fault", f"only read and sync can be slow, not {', '.join(slow)}")
        whole = [each for each in OPERATIONS if each not in _MAY_BE_SHORT and operations(each)]
        if action.short is not None and whole:
            raise Problem("invalid_fault", f"only read and write are short, not {', '.join(whole)}")


def error_number(name: str) -> int:
    """The number of an error such as "ENOSPC". Raises Problem."""
    number: object = getattr(errno, name, None)
    if not name.startswith("E") or not isinstance(number, int):
        raise Problem(
            "unknown_error", f"there is no error {name!r}", value=name, hint="EIO, ENOSPC"
        )
    return number


class DiskMatcher:
    """The criteria of a rule for operations on files, made ready."""

    def __init__(self, when: When) -> None:
        self._criteria = [
            (name, predicate(getattr(when, name), field=name))
            for name in ("disk", "topic", "partition", "file")
            if getattr(when, name) is not None
        ]

    def missed(self, operation: str, path: Path) -> tuple[str, object] | None:
        """The criterion that does not hold, and what there is instead; None if all hold."""
        topic, partition = parse_partition_directory(without_future(path.parent.name)) or ("", -1)
        seen = {"disk": operation, "topic": topic, "partition": partition, "file": str(path)}
        return next(
            ((name, seen[name]) for name, holds in self._criteria if not holds(seen[name])), None
        )


class FaultyFiles(Files):
    """The files of a cluster: those of `inner`, until a check is set."""

    def __init__(self, inner: Files) -> None:
        self._inner = inner
        self._check: Check | None = None
        self._exempt_thread: int | None = None
        self._paths: dict[int, Path] = {}
        # Reads that a thread has waited for, and that the loop is about to repeat; the bytes of
        # each that it gets at most.
        self._waited: dict[tuple[int, int], int | None] = {}
        self.set_check(None)

    def set_check(self, check: Check | None) -> None:
        """Have `check` called before each operation. It raises OSError, or SlowDisk.

        It says how many bytes are written, or read, at most; None: all of them.
        """
        self._check = check
        self.counts_writes = check is not None
        for name in ("pread", "pwrite", "sync", "rename", "sync_directory"):
            self.__dict__.pop(name, None)
        if check is not None:
            self.waits_for_disk = True
            self.__dict__.update(
                pread=self._checked_pread,
                pwrite=self._checked_pwrite,
                sync=self._checked_sync,
                rename=self._checked_rename,
            )
        else:
            self.waits_for_disk = self._inner.waits_for_disk
            self.__dict__.update(sync=self._inner.sync)
        self.__dict__.update(
            sync_directory=self._inner.sync_directory,
            sync_everything=self._inner.sync_everything,
            sync_file=self._inner.sync_file,
        )

    @contextmanager
    def without_check(self) -> Generator[None]:
        """Let the operations of this thread pass, one thread at a time."""
        self._exempt_thread = get_ident()
        try:
            yield
        finally:
            self._exempt_thread = None

    def open(self, path: Path, flags: int) -> int:
        self._look("open", path)
        descriptor = super().open(path, flags)
        self._paths[descriptor] = path
        return descriptor

    def close(self, descriptor: int) -> None:
        self._paths.pop(descriptor, None)
        super().close(descriptor)

    def _before(self, operation: str, descriptor: int) -> int | None:
        return self._look(operation, self._paths.get(descriptor, Path()))

    def _look(self, operation: str, path: Path) -> int | None:
        if self._check is None or self._exempt_thread == get_ident():
            return None
        return self._check(operation, path)

    def _checked_pread(self, descriptor: int, size: int, position: int) -> bytes:
        if (descriptor, position) in self._waited:
            most = self._waited.pop((descriptor, position))
        else:
            try:
                most = self._before("read", descriptor)
            except SlowDisk as slow:
                most = slow.most_bytes
                if page_cache.is_cached_only():
                    self._waited[descriptor, position] = most
                    raise _ReadLater(descriptor, size, position, slow.seconds) from None
                time.sleep(slow.seconds)
        return page_cache.pread(descriptor, size if most is None else min(size, most), position)

    def _checked_pwrite(
        self, descriptor: int, data: bytes | memoryview | bytearray, position: int
    ) -> int:
        most = self._before("write", descriptor)
        return super().pwrite(descriptor, data if most is None else data[:most], position)

    def _checked_sync(self, descriptor: int) -> None:
        try:
            self._before("sync", descriptor)
        except SlowDisk as slow:
            time.sleep(slow.seconds)
        self._inner.sync(descriptor)

    def _checked_rename(self, source: Path, target: Path) -> None:
        self._look("rename", source)
        super().rename(source, target)


class SlowDisk(Exception):
    """An operation takes so long, and does so many bytes then; None: all."""

    def __init__(self, duration: float, most_bytes: int | None = None) -> None:
        super().__init__(f"{duration} s")
        self.seconds = duration
        self.most_bytes = most_bytes


class _ReadLater(page_cache.NotCached):
    """A thread is to wait before the loop reads again."""

    def __init__(self, descriptor: int, size: int, position: int, duration: float) -> None:
        super().__init__(descriptor, size, position)
        self._duration = duration

    def read(self) -> None:
        time.sleep(self._duration)
        super().read()


def check_of(book: RuleBook) -> Check:
    """Does to an operation what the rules say."""

    def check(operation: str, path: Path) -> int | None:
        slow = 0.0
        most: int | None = None
        for action in book.disk_actions(operation, path):
            if action.errno is not None:
                number = error_number(action.errno)
                raise OSError(number, os.strerror(number), str(path))
            if action.delay is not None:
                slow += seconds(action.delay)
            if action.short is not None:
                most = action.short if most is None else min(most, action.short)
        if slow:
            raise SlowDisk(slow, most)
        return most

    return check
