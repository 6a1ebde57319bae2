"""Members of share groups: epochs, partitions that become ready, silence, topics that change."""

from __future__ import annotations

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.share_consumers import orders, settle

pytestmark = pytest.mark.usefixtures("size")


async def test_partitions_are_given_once_they_have_a_state(autojump_clock, world, consumers):
    (a,) = consumers("a")
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.partitions) == (2, set())
    topic_id = world.topics.topic_id("orders")
    assert world.share_states.kept == {("queue", topic_id, index): (2, -1) for index in range(4)}
    await trio.sleep(1.1)
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.partitions) == (3, orders(0, 1, 2, 3))
    await trio.sleep(5)
    assert a.send().assignment is None, "nothing has changed"


async def test_two_members_share(autojump_clock, world, consumers):
    everybody = consumers("a", "b", "c", "d", "e")
    a, b = everybody[:2]
    await settle(a, b)
    assert a.partitions | b.partitions == orders(0, 1, 2, 3)
    assert a.partitions.isdisjoint(b.partitions)
    await settle(*everybody, rounds=6)
    shared = sorted(partition for member in everybody for partition in member.partitions)
    assert shared == sorted([*orders(0, 1, 2, 3)] * 2), "more members than partitions"
    assert {len(member.partitions) for member in everybody} <= {1, 2}


async def test_epochs_that_do_not_fit(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    assert a.beat(member_epoch=a.epoch + 1) == ErrorCode.FENCED_MEMBER_EPOCH
    assert a.beat(member_epoch=a.epoch - 2) == ErrorCode.FENCED_MEMBER_EPOCH
    assert b.beat(member_epoch=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert b.beat(member_epoch=-1) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_answer_with_a_new_epoch_may_be_lost(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    before = a.epoch
    await trio.sleep(1.1)
    b.beat()
    await trio.sleep(1.1)
    assert a.beat() == ErrorCode.NONE
    assert a.epoch > before
    assert a.beat(member_epoch=before) == ErrorCode.NONE


async def test_a_silent_member_is_gone_and_others_get_its_share(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    for _ in range(12):
        await trio.sleep(5)
        assert a.beat() == ErrorCode.NONE
    assert a.partitions == orders(0, 1, 2, 3)
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_leaving(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    assert b.beat(member_epoch=-1) == ErrorCode.NONE
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3)


async def test_a_topic_that_grows(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    world.set_partitions("orders", 6)
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3, 4, 5)


async def test_a_full_group(autojump_clock, world, consumers):
    await world.start(group_share_max_size=1)
    a, b = consumers("a", "b")
    assert a.beat() == ErrorCode.NONE
    assert b.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_a_group_sets_its_own_times(autojump_clock, world, consumers):
    world.group_configs["queue"] = {
        "share.heartbeat.interval.ms": "7000",
        "share.session.timeout.ms": "50000",
    }
    (a,) = consumers("a")
    assert a.send().heartbeat_interval_ms == 7000
    await trio.sleep(48)
    a.epoch = 2
    assert a.beat() == ErrorCode.NONE


async def test_a_restart_keeps_members_and_what_is_ready(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a, b)
    epochs = a.epoch, b.epoch
    await world.start()
    await settle(a, b)
    assert (a.epoch, b.epoch) == epochs
    assert a.partitions | b.partitions == orders(0, 1, 2, 3)
    await trio.sleep(46)
    assert a.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_what_cannot_be_written_has_not_happened(autojump_clock, world, consumers):
    a, b = consumers("a", "b")
    await settle(a)
    world.log.failure = ErrorCode.NOT_COORDINATOR
    assert b.beat() == ErrorCode.NOT_COORDINATOR
    world.log.failure = None
    group = world.coordinator.share.describe(Context(), "queue")
    assert [member.member_id for member in group.members] == ["a"]
