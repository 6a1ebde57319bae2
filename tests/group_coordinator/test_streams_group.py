"""Streams groups as their records say: restarts, offsets of members (KIP-1071)."""

from __future__ import annotations

import trio

from kafkalite.group_coordinator.modern_group import ModernGroupState
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.streams_instances import (
    STATEFUL,
    described,
    instances,
    quick,
    settle,
)

__all__ = ["quick"]  # the fixture


async def test_a_restart_changes_nothing(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    before = described(quick)
    await quick.start()
    assert described(quick) == before
    epochs = a.epoch, b.epoch
    settle(a, b)
    assert (a.epoch, b.epoch) == epochs, "nobody need begin anew"


async def test_a_restart_at_every_record(autojump_clock, quick):
    """Whatever is written when the broker is killed, the members go on."""
    a, b, c = instances(quick, "a", "b", "c")
    settle(a, b)
    c.beat()
    for _ in range(12):
        for member in (a, b, c):
            assert member.beat() == ErrorCode.NONE
            await quick.start()
        active = [index for member in (a, b, c) for index in member.active]
        assert len(active) == len(set(active))
    assert a.active | b.active | c.active == {0, 1, 2, 3}
    assert described(quick).group_state == "Stable"


async def test_after_a_restart_silence_counts_anew(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    await trio.sleep(40)
    await quick.start()
    await trio.sleep(40)
    assert a.beat() == ErrorCode.NONE
    await trio.sleep(46)
    assert a.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_offsets_of_members(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)

    async def commit(epoch: int, partition: int) -> list[int]:
        return await quick.commit(
            ("orders", partition, 1),
            group_id="app",
            member_id="a",
            generation_id_or_member_epoch=epoch,
        )

    assert await commit(2, 0) == [ErrorCode.NONE]
    assert await commit(3, 0) == [ErrorCode.STALE_MEMBER_EPOCH]
    b.beat()
    settle(a, b)
    (kept, *_), (lost, *_) = sorted(a.active), sorted(b.active)
    assert await commit(2, kept) == [ErrorCode.NONE], "it had the task then"
    assert await commit(2, lost) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_a_group_that_is_new() -> None:
    group = StreamsGroup("app")
    assert (group.state, group.is_empty, group.epoch) == (ModernGroupState.EMPTY, True, 1)
    assert not group.depends_on({"orders"})
    assert not group.is_subscribed_to("orders")


async def test_what_a_group_depends_on(autojump_clock, quick):
    (a,) = instances(quick, "a", topology=STATEFUL)
    settle(a)
    await quick.start()
    group = quick.coordinator.shards.shard_of("app", 1).groups["app"]
    assert group.depends_on({"orders"})
    assert group.depends_on({"store"})
    assert not group.depends_on({"another"})
    assert group.is_subscribed_to("orders")
    assert not group.is_subscribed_to("store")
