"""Timers: many deadlines, most of which are put off."""

from __future__ import annotations

import math
import weakref

from kafkalite.group_coordinator.timers import RETRY_SECONDS, Timer, Timers
from kafkalite.wire.errors import ErrorCode, KafkaError


class Clock:
    """Seconds that a test turns by hand, and timers that note their expiry."""

    def __init__(self) -> None:
        self.now = 0.0
        self.expired: list[str] = []
        self.sooner = 0
        self.timers = Timers(lambda: self.now, self._count)

    def _count(self) -> None:
        self.sooner += 1

    def timer(self, name: str) -> Timer:
        return Timer(lambda: self.expired.append(name))

    def go_to(self, now: float) -> list[str]:
        self.now = now
        self.expired.clear()
        self.timers.expire_due()
        return list(self.expired)


def test_timers_expire_once_and_in_order() -> None:
    clock = Clock()
    for name, delay in (("late", 3), ("early", 1), ("middle", 2)):
        clock.timers.set(clock.timer(name), delay)
    assert clock.timers.next_time() == 1
    assert clock.go_to(0.9) == []
    assert clock.go_to(3) == ["early", "middle", "late"]
    assert clock.go_to(9) == []
    assert clock.timers.next_time() == math.inf


def test_no_more_than_so_many_expire_at_a_time() -> None:
    clock = Clock()
    for name in "abcde":
        clock.timers.set(clock.timer(name), 1)
    clock.now = 2
    for expired in ("ab", "abcd", "abcde"):
        assert clock.timers.next_time() == 1
        clock.timers.expire_due(2)
        assert "".join(clock.expired) == expired
    assert clock.timers.next_time() == math.inf


def test_a_deadline_that_is_put_off_comes_later() -> None:
    clock = Clock()
    timer = clock.timer("session")
    for now in (0, 1, 2):
        clock.now = now
        clock.timers.set(timer, 10)
    assert clock.go_to(10) == []
    assert clock.timers.next_time() == 12
    assert clock.go_to(12) == ["session"]


def test_timers_set_while_time_passes_in_steps_begin_at_its_end() -> None:
    """But for those that expire on the way."""
    clock = Clock()
    soon, later = clock.timer("soon"), clock.timer("later")
    clock.timers.set(soon, 10)
    clock.timers.set(later, 60)
    clock.timers.passing_until = 50
    clock.now = 9
    for timer in (soon, later, clock.timer("new")):
        clock.timers.set(timer, 20)
    assert clock.go_to(10) == ["soon"]
    assert clock.go_to(69) == []
    assert sorted(clock.go_to(70)) == ["later", "new"]


def test_a_deadline_that_is_brought_forward_comes_once() -> None:
    clock = Clock()
    timer = clock.timer("x")
    clock.timers.set(timer, 10)
    clock.timers.set(timer, 1)
    assert clock.go_to(1) == ["x"]
    assert clock.go_to(10) == []


def test_a_cancelled_timer_does_not_expire_and_can_be_set_again() -> None:
    clock = Clock()
    timer = clock.timer("x")
    clock.timers.set(timer, 1)
    timer.cancel()
    assert not timer.is_set
    assert clock.go_to(1) == []
    clock.timers.set(timer, 1)
    assert clock.go_to(2) == ["x"]


def test_only_an_earlier_first_deadline_wakes_the_sleeper() -> None:
    clock = Clock()
    clock.timers.set(clock.timer("a"), 5)
    assert clock.sooner == 1
    clock.timers.set(clock.timer("b"), 6)
    assert clock.sooner == 1
    clock.timers.set(clock.timer("c"), 4)
    assert clock.sooner == 2


def test_a_timer_may_set_itself_again_while_it_expires() -> None:
    clock = Clock()
    seen: list[float] = []

    def expire() -> None:
        seen.append(clock.now)
        clock.timers.set(timer, 1)

    timer = Timer(expire)
    clock.timers.set(timer, 1)
    for now in (1, 2, 3):
        clock.go_to(now)
    assert seen == [1, 2, 3]


def test_a_timer_that_fails_expires_again_soon_and_keeps_no_other_waiting() -> None:
    clock = Clock()
    errors = [KafkaError(ErrorCode.NOT_COORDINATOR)] * 2

    def fail_twice() -> None:
        if errors:
            raise errors.pop()
        clock.expired.append("failing")

    clock.timers.set(Timer(fail_twice), 1)
    clock.timers.set(clock.timer("other"), 2)
    assert clock.go_to(2) == ["other"]
    assert clock.timers.next_time() == 2 + RETRY_SECONDS
    assert clock.go_to(2 + RETRY_SECONDS) == []
    assert clock.go_to(2 + 2 * RETRY_SECONDS) == ["failing"]
    assert clock.timers.next_time() == math.inf


def test_no_more_than_half_of_what_is_kept_are_cancelled_timers() -> None:
    """Members come and go: what they leave behind does not wait for the ends of their sessions."""
    clock = Clock()
    living = [clock.timer(f"{number:03}") for number in range(50)]
    for number, timer in enumerate(living):
        clock.timers.set(timer, 45 + number / 1000)
    for _ in range(1000):
        gone = clock.timer("gone")
        clock.timers.set(gone, 45)
        gone.cancel()
        assert len(clock.timers) <= 2 * len(living) + 1
    assert clock.go_to(46) == [f"{number:03}" for number in range(50)]
    assert len(clock.timers) == 0


def test_deadlines_brought_forward_leave_nothing_behind() -> None:
    clock = Clock()
    timer = clock.timer("x")
    for delay in range(10_000, 0, -1):
        clock.timers.set(timer, delay)
        assert len(clock.timers) <= 20
    assert clock.go_to(1) == ["x"]
    clock.timers.set(timer, 5)
    assert clock.go_to(6) == ["x"]
    assert clock.go_to(20_000) == []
    assert len(clock.timers) == 0


def test_a_timer_is_set_cancelled_and_set_again_without_another_entry() -> None:
    """Such is the deadline of a connection whose fetches wait, one after the other."""
    clock = Clock()
    timer = clock.timer("fetch")
    for _ in range(100):
        clock.now += 0.001
        clock.timers.set(timer, 0.5)
        assert len(clock.timers) == 1
        timer.cancel()
    assert clock.go_to(9) == []
    clock.timers.set(timer, 1)
    assert clock.go_to(10) == ["fetch"]


def test_a_closed_timer_lets_go_of_what_it_was_for() -> None:
    clock = Clock()

    class Group:
        def end(self) -> None:
            raise AssertionError("it is gone")

    group = Group()
    timer = Timer(group.end)
    clock.timers.set(timer, 45)
    gone = weakref.ref(group)
    del group
    assert gone() is not None
    timer.close()
    assert gone() is None
    assert clock.go_to(45) == []
