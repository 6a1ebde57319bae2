"""A living group changes its protocol, and both kinds of members share one (KIP-848)."""

import struct

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from kafkalite.wire.messages.stored import decode, encode


def subscription(*topics, owned=()):
    by_topic = {}
    for topic, index in owned:
        by_topic.setdefault(topic, []).append(index)
    return encode(
        ConsumerProtocolSubscription(
            topics=list(topics),
            owned_partitions=[
                TopicPartition(topic=topic, partitions=indexes)
                for topic, indexes in by_topic.items()
            ],
        ),
        1,
    )


def classic(world, *topics, **options):
    protocols = [("cooperative-sticky", subscription(*(topics or ("orders",))))]
    return world.member(protocols=protocols, **options)


def partitions_of(member):
    if not member.assignment:
        return set()
    assignment = decode(ConsumerProtocolAssignment, member.assignment)
    return {(t.topic, index) for t in assignment.assigned_partitions for index in t.partitions}


async def rejoin(member):
    """Join with what is owned, and sync."""
    topics = ["orders"]
    owned = partitions_of(member)
    member.protocols = [("cooperative-sticky", subscription(*topics, owned=owned))]
    response = await member.join()
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = await member.join()
    assert response.error_code == ErrorCode.NONE
    return (await member.sync()).error_code


async def settle(classic_members, consumers, rounds=8):
    for _ in range(rounds):
        for consumer in consumers:
            assert await consumer.beat() == ErrorCode.NONE
        for member in classic_members:
            if await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS:
                await rejoin(member)


async def stable_classic(world, *members):
    """The members in a classic group whose leader has given everything to the first."""
    for member in members:
        await member.join()
    joins = [await world.soon(member.join) for member in members]
    for join in joins:
        await join.wait()
    everything = encode(
        ConsumerProtocolAssignment(
            assigned_partitions=[TopicPartition(topic="orders", partitions=[0, 1, 2, 3])]
        ),
        1,
    )
    leader = next(m for m in members if m.member_id == world.group().leader_id)
    others = [await world.soon(m.sync) for m in members if m is not leader]
    await leader.sync({members[0].member_id: everything})
    for other in others:
        await other.wait()


async def test_a_classic_group_is_upgraded_by_a_new_member(autojump_clock, world):
    old = classic(world)
    await stable_classic(world, old)
    await world.commit(("orders", 0, 7), member_id=old.member_id, generation_id_or_member_epoch=1)
    new = world.consumer()
    assert await new.beat() == ErrorCode.NONE
    assert new.partitions == set()
    assert world.group().group_type == "consumer"
    await settle([old], [new])
    assert len(new.partitions) == len(partitions_of(old)) == 2
    assert new.partitions | partitions_of(old) == {("orders", index) for index in range(4)}
    assert await world.consumer_state() == "Stable"
    assert await world.committed("orders", 0) == 7
    (described,) = await world.describe_consumer()
    assert sorted(m.member_type for m in described.members) == [0, 1]


async def test_the_upgraded_group_survives_a_restart(autojump_clock, world):
    old, new = classic(world), world.consumer()
    await stable_classic(world, old)
    await new.beat()
    await settle([old], [new])
    before = world.group()
    await world.start()
    assert world.group().members == before.members
    assert await old.heartbeat() == ErrorCode.NONE
    assert await new.beat() == ErrorCode.NONE


async def test_the_group_is_downgraded_when_the_last_consumer_leaves(autojump_clock, world):
    members, new = [classic(world), classic(world)], world.consumer()
    await stable_classic(world, *members)
    await new.beat()
    await settle(members, [new])
    await new.leave()
    assert world.group().group_type == "classic"
    assert await world.state() == "PreparingRebalance"
    for member in members:
        assert await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await world.start()
    assert world.group().group_type == "classic"
    assert len(world.group().members) == 2


async def test_a_silent_last_consumer_downgrades_too(autojump_clock, world):
    member, new = classic(world, session_timeout_ms=60_000), world.consumer()
    await stable_classic(world, member)
    await new.beat()
    await settle([member], [new])
    await trio.sleep(45.1)
    assert world.group().group_type == "classic"
    assert await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_static_consumer_may_come_back_as_a_classic_member(autojump_clock, world):
    member, new = classic(world), world.consumer(instance_id="one")
    await stable_classic(world, member)
    await new.beat()
    await settle([member], [new])
    old = classic(world, group_instance_id="one")
    response = await old.join()
    assert response.error_code == ErrorCode.NONE
    assert world.group().group_type == "classic"
    assert await world.state() == "Stable"


async def test_members_parked_in_the_classic_group_are_told_to_rejoin(autojump_clock, world):
    old = classic(world)
    await stable_classic(world, old)
    join = await world.soon(classic(world, version=3).join)
    assert await world.consumer().beat() == ErrorCode.NONE
    assert (await join.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("policy", "error_code"),
    [
        ("disabled", ErrorCode.GROUP_ID_NOT_FOUND),
        ("downgrade", ErrorCode.GROUP_ID_NOT_FOUND),
        ("upgrade", ErrorCode.NONE),
        ("bidirectional", ErrorCode.NONE),
    ],
)
async def test_the_policy_of_upgrades(autojump_clock, world, policy, error_code):
    await world.start(group_consumer_migration_policy=policy)
    await stable_classic(world, classic(world))
    assert await world.consumer().beat() == error_code


@pytest.mark.parametrize(
    ("policy", "kind"), [("upgrade", "consumer"), ("bidirectional", "classic")]
)
async def test_the_policy_of_downgrades(autojump_clock, world, policy, kind):
    await world.start(group_consumer_migration_policy=policy)
    member, new = classic(world), world.consumer()
    await stable_classic(world, member)
    await new.beat()
    await settle([member], [new])
    await new.leave()
    assert world.group().group_type == kind


async def test_a_group_that_is_no_consumers_cannot_be_upgraded(autojump_clock, world):
    await world.join_all(world.member(protocol_type="connect"))
    assert await world.consumer().beat() == ErrorCode.GROUP_ID_NOT_FOUND
    assert await world.state() == "Stable"


async def test_a_malformed_subscription_hinders_the_upgrade(autojump_clock, world):
    member = world.member(protocols=[("range", b"\1\2\3")])
    await world.join_all(member)
    assert await world.consumer().beat() == ErrorCode.GROUP_ID_NOT_FOUND
    assert await member.heartbeat() == ErrorCode.NONE


async def test_an_assignor_s_notes_would_be_lost(autojump_clock, world):
    member = classic(world)
    await member.join()
    await member.join()
    noted = encode(ConsumerProtocolAssignment(user_data=b"notes"), 1)
    await member.sync({member.member_id: noted})
    assert await world.consumer().beat() == ErrorCode.GROUP_ID_NOT_FOUND
    assert await member.heartbeat() == ErrorCode.NONE


async def test_empty_groups_change_as_they_are_used(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.leave()
    consumer = world.consumer()
    assert await consumer.beat() == ErrorCode.NONE
    await consumer.leave()
    await world.start()
    assert world.group().group_type == "consumer"
    await world.join_all(world.member())
    assert await world.state() == "Stable"
    await world.start()
    assert await world.state() == "Stable"


async def test_a_simple_group_keeps_its_offsets(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    assert await world.consumer().beat() == ErrorCode.NONE
    assert await world.committed("orders", 0) == 7
    await world.start()
    assert world.group().group_type == "consumer"
    assert await world.committed("orders", 0) == 7


# Classic members in a consumer group


async def test_a_classic_member_joins_a_consumer_group(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    old = classic(world)
    response = await old.join()
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert await rejoin(old) == ErrorCode.NONE
    await settle([old], [new])
    assert len(partitions_of(old)) == len(new.partitions) == 2
    assert await old.commit("orders", 0, 7) == ErrorCode.NONE
    old.generation_id += 1
    assert await old.commit("orders", 0, 7) == ErrorCode.ILLEGAL_GENERATION
    assert await old.heartbeat() == ErrorCode.ILLEGAL_GENERATION


async def test_who_may_not_join_a_consumer_group(autojump_clock, world):
    await world.consumer().beat()
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await world.member(protocol_type="connect").join()).error_code == inconsistent
    assert (await world.member(protocols=[("range", b"x")]).join()).error_code == inconsistent
    await rejoin(classic(world))
    other = world.member(protocols=[("range", subscription("orders"))])
    assert (await other.join()).error_code == inconsistent


async def test_a_consumer_is_not_served_the_classic_way(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    pretender = classic(world, member_id=new.member_id, generation_id=new.epoch)
    assert await pretender.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await pretender.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_an_administrator_may_remove_anybody(autojump_clock, world):
    new, old = world.consumer(instance_id="one"), classic(world)
    await new.beat()
    await rejoin(old)
    await settle([old], [new])
    gone = await old.leave(member_id="", group_instance_id="one")
    assert gone.error_code == ErrorCode.NONE
    assert list(world.group().members) == [old.member_id]
    assert world.group().group_type == "classic"


async def test_classic_members_leave_and_fall_silent(autojump_clock, world):
    new, leaves, silent = world.consumer(), classic(world), classic(world)
    await new.beat()
    await rejoin(leaves)
    await rejoin(silent)
    await settle([leaves, silent], [new])
    assert (await leaves.leave()).error_code == ErrorCode.NONE
    await trio.sleep(10.1)
    await settle([], [new])
    assert len(new.partitions) == 4
    assert await silent.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_classic_member_must_join_in_time_and_sync_in_time(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    slow = classic(world, rebalance_timeout_ms=15_000)
    await rejoin(slow)
    await settle([slow], [new])
    await world.consumer().beat()
    assert await slow.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(2):
        await trio.sleep(7)
        assert await slow.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await trio.sleep(1.1)
    assert await slow.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    unsynced = classic(world, version=3, rebalance_timeout_ms=15_000)
    await unsynced.join()
    for _ in range(2):
        await trio.sleep(7)
        await unsynced.heartbeat()
    await trio.sleep(1.1)
    assert await unsynced.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_classic_members_learn_that_a_topic_has_grown(autojump_clock, world):
    new, old = world.consumer(), classic(world)
    await new.beat()
    await rejoin(old)
    await settle([old], [new])
    world.set_partitions("orders", 6)
    assert await old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await settle([old], [new])
    assert len(partitions_of(old)) == len(new.partitions) == 3


async def test_assignments_come_in_the_version_of_the_subscription(autojump_clock, world):
    await world.consumer().beat()
    old = classic(world)
    await rejoin(old)
    assert struct.unpack_from(">h", old.assignment) == (1,)
