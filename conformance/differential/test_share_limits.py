"""Share fetches over several partitions, within few bytes and few records: whose come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.share_requests import ACCEPT, NOTHING, Member, produce
from conformance.differential.test_share_states import initialize, make_share_states

ALL = (0, 1, 2)
# Longer than Apache Kafka takes to open share partitions, and fetches of nothing are not for long.
OPENING_MS = 1000
WAIT_MS = 100


@pytest.fixture
def queue(pair: Pair, topic: str, group: str) -> str:
    """A topic of three partitions, which are open, and whose beginnings were looked at."""
    pair.create_topic(topic, 3)
    make_share_states(pair)
    initialize(pair, group, topic, *ALL)
    opening = Member(pair, group, topic, "opening")
    opening.fetch(partitions=ALL, max_wait_ms=OPENING_MS)
    opening.fetch(epoch=-1, without_topics=True)
    return topic


@pytest.fixture
def member(pair: Pair, group: str, queue: str) -> Callable[..., Member]:
    return lambda name="m-1": Member(pair, group, queue, name)


def fill(pair: Pair, queue: str, *partitions: int, size: int = 100) -> None:
    for partition in partitions:
        produce(pair, queue, 3, size=size, partition=partition)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("most", [1, 2, 4, 7])
def test_few_records_of_three_partitions(
    pair: Pair, queue: str, member: Callable[..., Member], most: int, mode: int
) -> None:
    """Records of a partition that is looked at for the first time come last."""
    m, n = member(), member("m-2")
    fields: dict[str, Any] = {
        "max_records": most,
        "share_acquire_mode": mode,
        "max_wait_ms": WAIT_MS,
    }
    m.fetch(partitions=(0, 2), **fields)
    fill(pair, queue, *ALL)
    m.fetch(partitions=ALL, **fields)
    n.fetch(partitions=(1, 0), **fields)
    # A hash decides in which order several that gave records have their next turn.
    for _ in range(5 if most == 1 else 0):
        m.fetch(without_topics=True, **fields)
        n.fetch(without_topics=True, **fields)


@pytest.mark.parametrize("most_bytes", [60, 1200, 6000])
def test_few_bytes_of_three_partitions(
    pair: Pair, queue: str, member: Callable[..., Member], most_bytes: int
) -> None:
    """Each of two readings has a batch that is larger than all bytes asked for."""
    m, n = member(), member("m-2")
    fields: dict[str, Any] = {"max_bytes": most_bytes, "max_wait_ms": WAIT_MS}
    fill(pair, queue, 0, 1, size=2000)
    m.fetch(partitions=ALL, **fields)
    fill(pair, queue, 2, size=2000)
    fill(pair, queue, 0, 1, 2, size=2000)
    m.fetch(without_topics=True, **fields)
    for _ in range(2):
        n.fetch(partitions=(1, 2), **fields)


@pytest.mark.parametrize("least", [60, 200, 3000])
def test_few_bytes_are_enough(
    pair: Pair, queue: str, member: Callable[..., Member], least: int
) -> None:
    """No more bytes of a partition count than its part of those asked for."""
    m = member()
    produce(pair, queue, 1, size=100)
    m.fetch(partitions=ALL, min_bytes=least, max_bytes=240, max_wait_ms=0)
    produce(pair, queue, 1, size=100, partition=1)
    m.fetch(without_topics=True, min_bytes=least, max_bytes=240, max_wait_ms=0)
    produce(pair, queue, 1, 1, size=100, partition=2)
    m.fetch(without_topics=True, min_bytes=least, max_bytes=240, max_wait_ms=0)
    m.fetch(without_topics=True, min_bytes=0, max_bytes=240, max_wait_ms=0)
    m.say((0, 0, ACCEPT))
    m.fetch(without_topics=True, **NOTHING)
