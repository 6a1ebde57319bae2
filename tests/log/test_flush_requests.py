"""An append flushes by itself, unless another has taken that over."""

from __future__ import annotations

from kafkalite.log.config import LogConfig
from kafkalite.log.log_state import LogState
from tests.log.conftest import Disk


def test_a_flush_may_be_taken_over(disk: Disk) -> None:
    asked: list[LogState] = []
    log = disk.log(config=LogConfig(flush_messages=2))
    log.flush_requests.later = asked.append
    disk.append(log, b"x")
    assert (asked, log.awaits_flush, log.visible_end_offset) == ([], False, 1)
    disk.append(log, b"x")
    assert (asked, log.awaits_flush, log.visible_end_offset) == ([log], True, 0)
    log.flush()
    assert (log.awaits_flush, log.visible_end_offset) == (False, 2)


def test_what_is_cut_off_needs_no_flush(disk: Disk) -> None:
    log = disk.log(config=LogConfig(flush_messages=2))
    log.flush_requests.later = lambda log: None
    for _ in range(2):
        disk.append(log, b"x")
    log.truncate_to(0)
    assert not log.awaits_flush


def test_a_follower_s_append_asks_for_its_flush(disk: Disk) -> None:
    leader, follower = disk.log("t-0"), disk.log("t-1", config=LogConfig(flush_messages=1))
    disk.append(leader, b"x")
    with leader.read(0, 1000, upper_bound=1).records as records:
        follower.append_as_follower(records.read())
    assert follower.recovery_point == 1
