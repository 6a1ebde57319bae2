"""A look-up of a time that takes long: in a log of very many segments, after a start."""

from __future__ import annotations

import pytest

from kafkalite.log.log import Log
from kafkalite.log.page_cache import NotBrief, is_cached_only
from kafkalite.log.readable_segment import FoundRecord


def make_long(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the next look-up done in a thread; returns what is done, and fails if the loop does it
    all."""
    done: list[str] = []
    look_up = Log.offset_for_timestamp

    def long(log: Log, timestamp: int) -> FoundRecord | None:
        assert is_cached_only(), "the loop reads all that is on the disk"
        if not done:
            raise NotBrief(lambda: done.append("read in a thread"))
        done.append("looked up")
        return look_up(log, timestamp)

    monkeypatch.setattr(Log, "offset_for_timestamp", long)
    return done
