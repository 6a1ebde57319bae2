"""Caught up is who asked for the leader's end not too long ago."""

from __future__ import annotations

from kafkalite.replication.followers import Follower


def caught_up(follower: Follower, leader_end: int, now: float) -> bool:
    return follower.is_caught_up(leader_end=leader_end, now=now, max_lag_seconds=10)


def fetched(follower: Follower, offset: int, leader_end: int, now: float) -> None:
    follower.fetched(offset, 0, 1, leader_end=leader_end, now=now)


def test_at_the_end_it_is_caught_up_however_long_it_is_silent() -> None:
    follower = Follower()
    fetched(follower, 5, 5, 0)
    assert caught_up(follower, 5, 1000)
    assert not caught_up(follower, 6, 1000)


def test_behind_the_end_it_has_the_largest_lag() -> None:
    follower = Follower()
    fetched(follower, 5, 5, 0)
    assert caught_up(follower, 9, 10)
    assert not caught_up(follower, 9, 10.1)


def test_under_a_steady_stream_the_last_end_counts() -> None:
    follower = Follower()
    follower.elected(is_in_sync=True, is_new_leader=True, leader_end=0, now=0)
    for second in range(100):  # always one batch behind, never late
        fetched(follower, second, second + 1, float(second))
        assert caught_up(follower, second + 1, float(second))


def test_a_slow_one_falls_behind_though_it_fetches() -> None:
    follower = Follower()
    for second in range(30):
        fetched(follower, second, 10 * second + 1, float(second))
    assert not caught_up(follower, 300, 30)


def test_a_new_leader_gives_who_is_in_sync_the_whole_time() -> None:
    inside, outside = Follower(), Follower()
    inside.elected(is_in_sync=True, is_new_leader=True, leader_end=7, now=100)
    outside.elected(is_in_sync=False, is_new_leader=True, leader_end=7, now=100)
    assert caught_up(inside, 7, 110)
    assert not caught_up(inside, 7, 110.1)
    assert not caught_up(outside, 7, 100)
    assert inside.end_offset == outside.end_offset == -1
