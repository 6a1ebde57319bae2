"""Share groups over transactions: what is committed, aborted and open, read in both isolation
levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    RELEASE,
    Member,
    configure,
    offsets,
    produce,
)
from conformance.differential.test_share_groups import member, queue
from conformance.differential.test_share_states import read
from conformance.differential.transactional import Transactions

__all__ = ["member", "queue"]  # the fixtures

LEVEL = "share.isolation.level"


@pytest.fixture
def transactions(pair: Pair, group: str, queue: str) -> Transactions:
    begun = Transactions(pair, queue)
    begun.init()
    return begun


def write(t: Transactions, *counts: int) -> None:
    for count in counts:
        t.produce(12, sequence=t.next_sequence(0, count), count=count)


def end(t: Transactions, *, commit: bool) -> None:
    t.end(5, commit)
    t.state()


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize(("most", "size"), [(500, 500), (4, 500), (500, 1), (3, 2)])
@pytest.mark.parametrize("mode", [0, 1])
def test_both_endings_and_none(
    pair: Pair,
    queue: str,
    member: Callable[..., Member],
    transactions: Transactions,
    level: str,
    most: int,
    size: int,
    mode: int,
) -> None:
    m, n = member(), member("m-2")
    configure(pair, m.group, **{LEVEL: level})
    t = transactions
    produce(pair, queue, 2)
    write(t, 3, 1)
    end(t, commit=False)
    write(t, 2)
    produce(pair, queue, 1)
    end(t, commit=True)
    write(t, 2, 2)
    fields: dict[str, Any] = {
        "max_records": most,
        "batch_size": size,
        "share_acquire_mode": mode,
        "max_wait_ms": 200,
    }
    for each in (m, n, m, n):
        each.fetch(**fields)
    read(pair, m.group, queue)
    m.say((0, 1, ACCEPT))
    m.say((2, 6, ACCEPT), (7, 8, GAP))
    n.say((9, 9, RELEASE))
    end(t, commit=False)
    produce(pair, queue, 1)
    for each in (m, n, m, n):
        each.fetch(**fields)
    offsets(pair, m.group, [(queue, [0])])
    read(pair, m.group, queue)
    m.say((10, 16, ACCEPT))
    n.say((10, 16, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])


def test_only_what_was_aborted_is_left(
    pair: Pair, queue: str, member: Callable[..., Member], transactions: Transactions
) -> None:
    """It is done with as soon as all before it is."""
    produce(pair, queue, 1)
    m, n = member(), member("m-2")
    m.fetch()
    write(transactions, 6)
    end(transactions, commit=False)
    m.say((0, 0, RELEASE))
    configure(pair, m.group, **{LEVEL: "read_committed"})
    n.fetch(max_records=7, batch_size=1, share_acquire_mode=1)
    read(pair, m.group, queue)
    n.say((0, 0, ACCEPT))
    n.fetch(max_records=3, batch_size=4)
    read(pair, m.group, queue)
    n.say((6, 6, ACCEPT))
    n.say((7, 7, ACCEPT))
    n.say((6, 6, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])


def test_levels_change_meanwhile(
    pair: Pair, queue: str, member: Callable[..., Member], transactions: Transactions
) -> None:
    m, n = member(), member("m-2")
    write(transactions, 3, 2)
    m.fetch(max_records=3)
    m.say((1, 2, RELEASE))
    configure(pair, m.group, **{LEVEL: "read_committed"})
    n.fetch(max_wait_ms=200)
    end(transactions, commit=False)
    produce(pair, queue, 2)
    n.fetch()
    read(pair, m.group, queue)
    m.say((0, 0, ACCEPT))
    n.say((3, 7, ACCEPT))
    offsets(pair, m.group, [(queue, [0])])
    configure(pair, m.group, **{LEVEL: "read_uncommitted"})
    n.fetch(max_wait_ms=200)
