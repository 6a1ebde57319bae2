"""Throttled replication: a rate over the last seconds, and lists of replicas."""

from __future__ import annotations

from math import inf

import pytest

from kafkalite.replication.throttle import Throttle, is_named


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ("*", True),
        ("3:1", True),
        ("0:1,03:01", True),
        ("1:3", False),
        ("3:11,33:1", False),
        ("", False),
    ],
)
def test_a_list_names_partitions_and_brokers(replicas: str, expected: bool) -> None:
    assert is_named(replicas, 3, 1) is expected


def test_the_rate_is_that_since_the_oldest_sample() -> None:
    throttle = Throttle(lambda: 100)
    assert not throttle.is_used_up(0.0)
    throttle.record(100, 0.0)
    assert not throttle.is_used_up(0.0), "a sample counts as a second at least"
    throttle.record(1, 0.5)
    assert throttle.is_used_up(0.5)
    assert throttle.is_used_up(1.0)
    assert not throttle.is_used_up(1.01)
    throttle.record(900, 2.0)
    assert throttle.is_used_up(10.0)
    assert not throttle.is_used_up(10.01)


def test_what_is_long_ago_counts_no_more() -> None:
    throttle = Throttle(lambda: 10)
    throttle.record(10_000, 0.0)
    assert throttle.is_used_up(10.9)
    assert not throttle.is_used_up(11.0)


def test_the_rate_may_change() -> None:
    rates = [inf]
    throttle = Throttle(lambda: rates[0])
    throttle.record(1 << 40, 0.0)
    assert not throttle.is_used_up(0.0)
    rates[0] = 0
    assert throttle.is_used_up(0.0)
