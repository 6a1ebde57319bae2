"""The records that a member gets: whole batches, bounds, and records that keep failing."""

from __future__ import annotations

import pytest

from kafkalite.replica.share.acknowledgement import AcknowledgeType
from kafkalite.replica.share.acquisition import Acquired
from kafkalite.replica.share.in_flight import RecordState
from tests.kafkalite.replica.share.share_world import World, offsets

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def test_a_member_gets_whole_batches_until_it_has_enough() -> None:
    world = World([4, 4, 4])
    assert world.fetch("a", most=5) == [Acquired(0, 7, 1)]
    assert world.fetch("b", most=5) == [Acquired(8, 11, 1)]
    assert world.fetch("c") == []


def test_in_record_limited_mode_it_gets_no_more_than_it_asked_for() -> None:
    world = World([4, 4])
    assert world.fetch("a", most=3, limited=True) == [Acquired(0, 2, 1)]
    assert world.fetch("b", most=3, limited=True) == [Acquired(3, 3, 1), Acquired(4, 5, 1)]
    assert offsets(world.fetch("c", most=9, limited=True)) == [6, 7]


def test_records_are_acquired_in_batches_of_the_size_asked_for() -> None:
    """Cut where a batch of the log begins: never within one."""
    world = World([2, 2, 2, 5, 1])
    acquired = world.fetch("a", batch_size=4)
    assert [(each.first_offset, each.last_offset) for each in acquired] == [
        (0, 3),
        (4, 10),
        (11, 11),
    ]


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_of_no_records_does_not_hide_the_one_that_begins_there(size: int) -> None:
    """Apache Kafka tells an empty range before each, and what follows is in flight."""
    world = World([2, 3])
    assert world.fetch("a", most=1, batch_size=size) == [Acquired(0, -1, 1), Acquired(0, 1, 1)]
    assert world.fetch("b", most=1, batch_size=size) == [Acquired(2, 1, 1), Acquired(2, 4, 1)]
    assert world.states() == dict.fromkeys(range(5), (RecordState.ACQUIRED, 1))


@pytest.mark.parametrize("most", [0, -1])
def test_a_member_that_wants_nothing_gets_nothing(most: int) -> None:
    world = World([4])
    assert world.fetch("a", most=most) == []
    assert world.states() == {}


def test_a_fenced_partition_gives_nothing() -> None:
    world = World([4])
    world.share.is_fenced = True
    assert world.fetch("a") == []


def test_each_delivery_is_counted() -> None:
    world = World([3])
    for count in (1, 2):
        assert world.fetch("a") == [Acquired(0, 2, count)]
        world.say(RELEASE, 0, 2)


def test_neighbours_with_one_delivery_count_are_told_as_one() -> None:
    world = World([6])
    world.fetch("a")
    world.say(RELEASE, 0, 1)
    world.say(RELEASE, 3, 4)
    assert world.fetch("b") == [Acquired(0, 1, 2), Acquired(3, 4, 2)]
    world.say(RELEASE, 4, 4, "b")
    world.say(RELEASE, 5, 5)
    assert world.fetch("c") == [Acquired(4, 4, 3), Acquired(5, 5, 2)]


def test_no_more_records_are_out_than_may_be() -> None:
    world = World([5] * 10, partition_max_record_locks=10)
    assert len(offsets(world.fetch("a", most=500))) == 10
    assert not world.share.can_acquire
    assert world.fetch("b") == []
    world.say(RELEASE, 3, 4)
    assert offsets(world.fetch("b")) == [3, 4]


def test_gaps_in_what_was_stored_are_delivered() -> None:
    """After a crash only what was acknowledged is known; what lay between is fetched again."""
    world = World([4, 4, 4])
    world.fetch("a")
    world.say(ACCEPT, 4, 7)
    world.share = world.opened()
    assert world.share.next_fetch_offset() == 0
    found = offsets(world.fetch("b", most=4))
    assert found == [0, 1, 2, 3]
    assert offsets(world.fetch("b")) == [8, 9, 10, 11]
    world.say(ACCEPT, 0, 3, "b")
    assert world.share.start_offset == 8


def test_what_compaction_took_is_done_with() -> None:
    world = World([2, 2, 2])
    world.fetch("a")
    world.say(RELEASE, 0, 5)
    world.log = world.log[2:]
    assert offsets(world.fetch("b")) == [4, 5]
    world.say(ACCEPT, 4, 5, "b")
    assert world.share.start_offset == 6


def test_a_record_that_fails_wears_out_alone() -> None:
    """Near its last delivery a record gets fewer neighbours, and in the last none."""
    world = World([16], delivery_count_limit=5)
    found: list[int] = []
    for _ in range(3):
        found = offsets(world.fetch("a"))
        world.say(RELEASE, found[0], found[-1])
    assert found == list(range(16))
    narrower = offsets(world.fetch("a"))
    assert len(narrower) == 8
    for offset in narrower:
        world.say(AcknowledgeType.RELEASE, offset, offset)
    assert offsets(world.fetch("a")) == [0]
    world.say(RELEASE, 0, 0)
    assert world.states().get(0, (RecordState.ARCHIVED, 5))[0] is RecordState.ARCHIVED
    assert world.share.start_offset == 1
