"""Share partitions against a model that keeps every record by itself, and after crashes."""

from __future__ import annotations

import random

import pytest

from kafkalite.replica.share.acknowledgement import (
    release_all,
    release_expired,
)
from kafkalite.replica.share.in_flight import RecordState
from tests.kafkalite.replica.share.share_world import World, offsets, sizes

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
MEMBERS = ("a", "b", "c")


class Model:
    """Invariants of every record, whatever happens."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: set[int] = set()
        self.holders: dict[int, tuple[str, float]] = {}
        self.deliveries: dict[int, int] = {}

    def acquired(self, member_id: str, found: list[int]) -> None:
        deadline = self.world.now + self.world.limits.record_lock_duration_seconds
        for offset in found:
            assert offset not in self.done, f"{offset} was done with"
            assert offset not in self.holders, f"{offset} is with {self.holders.get(offset)}"
            self.deliveries[offset] = self.deliveries.get(offset, 0) + 1
            assert self.deliveries[offset] <= self.world.limits.delivery_count_limit
            self.holders[offset] = member_id, deadline

    def released(self, offset: int) -> None:
        del self.holders[offset]
        if self.deliveries[offset] >= self.world.limits.delivery_count_limit:
            self.done.add(offset)

    def said(self, kind: int, offset: int) -> None:
        if kind == RENEW:
            deadline = self.world.now + self.world.limits.record_lock_duration_seconds
            self.holders[offset] = self.holders[offset][0], deadline
        elif kind == RELEASE:
            self.released(offset)
        else:
            del self.holders[offset]
            self.done.add(offset)

    def check(self) -> None:
        share = self.world.share
        states = self.world.states()
        for offset, (state, count) in states.items():
            if offset < share.start_offset:
                continue
            if offset in self.holders:
                assert state is RecordState.ACQUIRED
            elif offset in self.done:
                assert state.is_final
            else:
                assert state is RecordState.AVAILABLE
            assert count == self.deliveries.get(offset, 0)
        assert all(offset in states for offset in self.holders)
        assert all(offset in self.done for offset in range(share.start_offset))
        done = sum(state.is_final for n, (state, _) in states.items() if n >= share.start_offset)
        assert share.delivery_complete_count == done

    def crashed(self) -> None:
        """Records only acquired are free again, and their delivery may be forgotten, but nothing
        that was accepted comes back."""
        self.holders.clear()
        self.world.share = self.world.opened()
        states = self.world.states()
        for offset in range(self.world.share.start_offset):
            assert offset in self.done
        for offset in self.done:
            if offset >= self.world.share.start_offset:
                assert states[offset][0].is_final
        self.deliveries = {offset: count for offset, (_, count) in states.items()}


def step(world: World, model: Model, chance: random.Random) -> None:
    member_id = chance.choice(MEMBERS)
    what = chance.random()
    if what < 0.4:
        limited = chance.random() < 0.5
        most = chance.choice((1, 3, 10, 100))
        acquired = world.fetch(member_id, most, chance.choice((1, 4, 100)), limited=limited)
        found = offsets(acquired)
        if limited:
            assert len(found) <= most
        model.acquired(member_id, found)
    elif what < 0.75:
        mine = sorted(n for n, (holder, _) in model.holders.items() if holder == member_id)
        if mine:
            first = last = chance.choice(mine)
            while last + 1 in mine and chance.random() < 0.8:
                last += 1
            kind = chance.choice((ACCEPT, ACCEPT, RELEASE, REJECT, RENEW))
            world.say(kind, first, last, member_id)
            for offset in range(first, last + 1):
                model.said(kind, offset)
    elif what < 0.85:
        world.now += chance.choice((1.0, 10.0, 31.0))
        while world.share.next_deadline() <= world.now:
            release_expired(world.share)
        for offset, (_, deadline) in list(model.holders.items()):
            if deadline <= world.now:
                model.released(offset)
    elif what < 0.9:
        release_all(world.share, member_id)
        for offset, (holder, _) in list(model.holders.items()):
            if holder == member_id:
                model.released(offset)
    elif what < 0.95:
        world.append(chance.choice((1, 3, 20)))
    else:
        model.crashed()


@pytest.mark.parametrize("seed", range(40))
def test_a_life_of_many_members(seed: int) -> None:
    chance = random.Random(seed)
    world = World(
        sizes(chance, 8),
        delivery_count_limit=chance.choice((2, 3, 5)),
        partition_max_record_locks=chance.choice((10, 30, 2000)),
    )
    model = Model(world)
    for _ in range(150):
        step(world, model, chance)
        model.check()


@pytest.mark.parametrize("seed", range(10))
def test_everything_is_accepted_in_the_end(seed: int) -> None:
    """Whatever happened before: one patient member gets, once each, all that is not done with."""
    chance = random.Random(seed)
    world = World(sizes(chance, 6), delivery_count_limit=5)
    model = Model(world)
    for _ in range(60):
        step(world, model, chance)
    for member_id in MEMBERS:
        release_all(world.share, member_id)
        for offset, (holder, _) in list(model.holders.items()):
            if holder == member_id:
                model.released(offset)
    while True:
        found = offsets(world.fetch("last", 50))
        if not found:
            break
        model.acquired("last", found)
        for offset in found:
            world.say(ACCEPT, offset, offset, "last")
            model.said(ACCEPT, offset)
    assert model.done == set(range(world.end_offset))
    assert world.share.start_offset == world.end_offset
    assert not world.share.batches


def test_the_log_start_takes_what_is_available_with_it() -> None:
    world = World([5, 5, 5])
    world.fetch("a", most=5)
    world.fetch("b", most=5)
    world.say(RELEASE, 0, 4)
    world.share.log_start_moved(7)
    assert world.share.start_offset == 7
    assert world.states()[0][0] is RecordState.ARCHIVED
    assert world.states()[8][0] is RecordState.ACQUIRED
    world.say(ACCEPT, 5, 9, "b")
    world.now = 31.0
    release_expired(world.share)  # 5 and 6, which are gone, are with b until then
    assert world.share.start_offset == 10
    assert offsets(world.fetch("a")) == [10, 11, 12, 13, 14]


def test_a_batch_that_was_taken_apart_stays_until_what_follows_is_done() -> None:
    """Its records are done with, and are behind the start."""
    world = World([6, 6])
    world.fetch("a", most=3, limited=True)
    world.share.log_start_moved(6)
    release_all(world.share, "a")
    assert (world.share.start_offset, len(world.states())) == (6, 6)
    assert offsets(world.fetch("b")) == [6, 7, 8, 9, 10, 11]
    world.say(ACCEPT, 6, 11, "b")
    assert (world.share.start_offset, world.states()) == (12, {})
