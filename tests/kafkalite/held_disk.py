"""A disk that takes its time: every fsync waits until the test lets it go on, or fails."""

from __future__ import annotations

import os
import threading
from typing import Self

import pytest

from kafkalite.log.files import Files

_PATIENCE_SECONDS = 30.0


class HeldDisk:
    """`hold` and `let_go`; with `error` set, what is let go fails with it. `count` are the fsyncs
    of files that were begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error = 0
        self.count = 0
        self._free = threading.Event()
        self._free.set()
        whole = Files.sync

        def sync(files: Files, descriptor: int) -> None:
            self.count += 1
            assert self._free.wait(_PATIENCE_SECONDS), "the loop waits for the disk"
            if self.error:
                raise OSError(self.error, os.strerror(self.error))
            whole(files, descriptor)

        monkeypatch.setattr(Files, "sync", sync)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go, whatever the test found: the broker's end waits for the disk."""
        self.let_go()

    def hold(self) -> None:
        self.count = 0
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()
