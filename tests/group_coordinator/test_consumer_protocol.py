"""ConsumerGroupHeartbeat: admission, epochs, reconciliation, timeouts (KIP-848)."""

from __future__ import annotations

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.consumers import NAMES, orders, settle

pytestmark = pytest.mark.usefixtures("size")


async def test_a_member_alone_gets_everything_at_once(autojump_clock, world):
    consumer = world.consumer()
    assert await consumer.beat() == ErrorCode.NONE
    assert consumer.partitions == orders(0, 1, 2, 3)
    assert (consumer.epoch, consumer.interval) == (2, 5.0)
    assert await world.consumer_state() == "Stable"


async def test_version_0_is_given_a_member_id(autojump_clock, world):
    response = await world.consumer(member_id="").send(version=0, **NAMES)
    assert response.error_code == ErrorCode.NONE
    assert len(response.member_id) == 22


async def test_a_group_has_a_greatest_size(autojump_clock, world):
    await world.start(group_consumer_max_size=1)
    first, second = world.consumer(), world.consumer()
    assert await first.beat() == ErrorCode.NONE
    assert await second.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert await first.beat() == ErrorCode.NONE


async def test_a_partition_is_given_only_when_its_owner_has_given_it_up(autojump_clock, world):
    first, second = world.consumer(), world.consumer()
    await first.beat()
    await second.beat()
    assert second.partitions == set()
    assert second.epoch == 3
    first.revokes = False
    response = await first.send(topic_partitions=[])
    kept = {i for t in response.assignment.topic_partitions for i in t.partitions}
    assert len(kept) == 2
    first.epoch = response.member_epoch
    await second.beat()
    lost = set(range(4)) - kept
    assert {index for _, index in second.partitions} == lost


async def test_a_member_keeps_its_epoch_while_it_must_revoke(autojump_clock, world):
    first, second = world.consumer(revokes=False), world.consumer()
    await first.beat()
    first.owned = {world.topics.topic_id("orders"): {0, 1, 2, 3}}
    await second.beat()
    await first.beat()
    assert first.epoch == 2
    await second.beat()
    assert second.partitions == set()
    assert await world.consumer_state() == "Reconciling"
    first.owned = {t: {i for i in p if i not in {0, 1}} for t, p in first.owned.items()}
    member = world.group().members[first.member_id]
    (pending,) = member.pending_revocation.values()
    first.owned = {world.topics.topic_id("orders"): set(range(4)) - set(pending)}
    await first.beat()
    assert first.epoch == 3
    await second.beat()
    assert {index for _, index in second.partitions} == set(pending)
    assert await world.consumer_state() == "Stable"


async def test_assignments_come_on_joining_on_change_and_when_asked_for(autojump_clock, world):
    consumer = world.consumer()
    assert (await consumer.send(**NAMES)).assignment is not None
    consumer.epoch = 2
    assert (await consumer.send()).assignment is None
    assert (await consumer.send(topic_partitions=[])).assignment is None
    full = await consumer.send(**NAMES)
    assert full.assignment is not None
    assert full.member_epoch == 2


async def test_a_silent_member_is_fenced_after_the_session_timeout(autojump_clock, world):
    silent, lively = world.consumer(), world.consumer()
    await settle(silent, lively)
    for _ in range(8):
        await trio.sleep(5)
        await lively.beat()
    assert len(lively.partitions) == 2
    await trio.sleep(5.1)
    await lively.beat()
    assert lively.partitions == orders(0, 1, 2, 3)
    assert await silent.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_who_does_not_revoke_in_time_is_fenced(autojump_clock, world):
    stubborn = world.consumer(revokes=False, rebalance_timeout_ms=12_000)
    await stubborn.beat()
    stubborn.owned = {world.topics.topic_id("orders"): {0, 1, 2, 3}}
    newcomer = world.consumer()
    await newcomer.beat()
    await stubborn.beat()
    for _ in range(2):
        await trio.sleep(5)
        assert await stubborn.beat() == ErrorCode.NONE
        await newcomer.beat()
    await trio.sleep(2.1)
    assert await stubborn.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    await newcomer.beat()
    assert newcomer.partitions == orders(0, 1, 2, 3)


async def test_leaving_frees_at_once(autojump_clock, world):
    stays, goes = world.consumer(), world.consumer()
    await settle(stays, goes)
    assert await goes.leave() == ErrorCode.NONE
    await stays.beat()
    assert stays.partitions == orders(0, 1, 2, 3)
    assert await goes.leave() == ErrorCode.UNKNOWN_MEMBER_ID
    await stays.leave()
    assert await world.consumer_state() == "Empty"


async def test_a_static_member_may_leave_for_a_while(autojump_clock, world):
    stays, away = world.consumer(), world.consumer(instance_id="one")
    await settle(stays, away)
    had = away.partitions
    assert await away.leave(epoch=-2) == ErrorCode.NONE
    await stays.beat()
    assert len(stays.partitions) == 2
    again = world.consumer(instance_id="one")
    await again.beat()
    assert again.partitions == had
    assert await stays.beat() == ErrorCode.NONE
    assert len(stays.partitions) == 2
    gone = await away.send(member_epoch=2)
    assert gone.error_code == ErrorCode.FENCED_INSTANCE_ID


async def test_a_member_that_comes_again_as_a_static_one_stays_the_same(autojump_clock, world):
    consumer = world.consumer()
    await consumer.send(**NAMES, rack_id="r")
    answer = await consumer.send(**NAMES, member_epoch=0, instance_id="one")
    assert answer.error_code == ErrorCode.NONE
    (member,) = world.group().members.values()
    assert (member.rack_id, member.instance_id) == ("r", "one")


async def test_a_static_member_that_stays_away_is_fenced(autojump_clock, world):
    away = world.consumer(instance_id="one")
    await away.beat()
    await away.leave(epoch=-2)
    await trio.sleep(45.1)
    assert await world.consumer_state() == "Empty"


async def test_an_instance_id_in_use_is_not_released(autojump_clock, world):
    await world.consumer(instance_id="one").beat()
    thief = world.consumer(instance_id="one")
    assert await thief.beat() == ErrorCode.UNRELEASED_INSTANCE_ID
    stranger = world.consumer(instance_id="two", epoch=1)
    assert (await stranger.send()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
