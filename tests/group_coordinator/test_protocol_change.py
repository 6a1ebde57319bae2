"""A living group changes its protocol, and both kinds of members share one (KIP-848)."""

from __future__ import annotations

import pytest
import trio

from kafkalite.group_coordinator import large_groups
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.consumer_protocol_subscription import (
    TopicPartition,
)
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.stored import CONSUMER_OFFSETS, decode_key, encode
from kafkalite.wire.rows import rows_of
from tests.group_coordinator.both_protocols import classic, partitions_of, settle
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.test_large_groups import ended

pytestmark = pytest.mark.usefixtures("size")


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


async def refused(world, reason):
    """The first heartbeat of the other protocol is refused for this reason."""
    answer = await world.consumer().send(
        rebalance_timeout_ms=1000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    upgrade = "Cannot upgrade classic group group to consumer group because"
    assert answer.error_message == f"{upgrade} {reason}."


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
    described = await world.describe_consumer()
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


async def test_the_upgrade_writes_all_that_a_consumer_group_has(autojump_clock, world):
    """Source: Kafka's ConsumerGroup.createConsumerGroupRecords."""
    old = classic(world)
    await stable_classic(world, old)
    await world.consumer().beat()
    upgrade = [
        (type(key).__name__, getattr(key, "member_id", None), value is None)
        for key, value in (
            (decode_key(key, CONSUMER_OFFSETS), value) for key, value in world.log.batches[-1]
        )
    ]
    assert upgrade[:6] == [
        ("GroupMetadataKey", None, True),
        ("ConsumerGroupMemberMetadataKey", old.member_id, False),
        ("ConsumerGroupMetadataKey", None, False),
        ("ConsumerGroupTargetAssignmentMemberKey", old.member_id, False),
        ("ConsumerGroupTargetAssignmentMetadataKey", None, False),
        ("ConsumerGroupCurrentMemberAssignmentKey", old.member_id, False),
    ]


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


async def test_a_static_consumer_back_for_other_topics_makes_the_group_rejoin(
    autojump_clock, world
):
    """The assignment is stale then: Apache Kafka neither computes another nor names an epoch. The
    generation is the epoch before."""
    new = world.consumer(instance_id="one", topics=["other"])
    await new.beat()
    epoch = world.group().epoch
    old = classic(world, group_instance_id="one")
    response = await old.join()
    assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 0)
    assert (world.group().group_type, world.group().generation_id) == ("classic", epoch)
    assert await world.state() == "PreparingRebalance"


async def test_members_parked_in_the_classic_group_are_told_to_rejoin(autojump_clock, world):
    old = classic(world)
    await stable_classic(world, old)
    join = await world.soon(classic(world, version=3).join)
    assert await world.consumer().beat() == ErrorCode.NONE
    assert (await join.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("policy", "is_allowed"),
    [("disabled", False), ("downgrade", False), ("upgrade", True), ("bidirectional", True)],
)
async def test_the_policy_of_upgrades(autojump_clock, world, policy, is_allowed):
    await world.start(group_consumer_migration_policy=policy)
    await stable_classic(world, classic(world))
    if is_allowed:
        assert await world.consumer().beat() == ErrorCode.NONE
    else:
        await refused(world, "online upgrade is disabled")


async def test_a_group_that_is_too_large_cannot_be_upgraded(autojump_clock, world):
    await world.start(group_consumer_max_size=1)
    await stable_classic(world, classic(world), classic(world))
    await refused(world, "the group size exceeds the consumer group maximum size")


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
    await refused(world, "the group does not use the consumer embedded protocol")
    assert await world.state() == "Stable"


async def test_a_malformed_subscription_hinders_the_upgrade(autojump_clock, world):
    member = world.member(protocols=[("range", b"\1\2\3")])
    await world.join_all(member)
    await refused(world, "the embedded consumer protocol is malformed")
    assert await member.heartbeat() == ErrorCode.NONE


async def test_an_assignor_s_notes_would_be_lost(autojump_clock, world):
    member = classic(world)
    await member.join()
    await member.join()
    noted = encode(ConsumerProtocolAssignment(user_data=b"notes"), 1)
    await member.sync({member.member_id: noted})
    await refused(
        world,
        "an unsupported custom assignor is in use. Please refer to the documentation or"
        " switch to a default assignor before re-attempting the upgrade",
    )
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


async def test_a_member_that_joins_an_empty_group_by_its_id_ends_it(autojump_clock, world):
    """Nothing is written. The offsets stay, and show again once there is a group."""
    consumer = world.consumer()
    assert await consumer.beat() == ErrorCode.NONE
    await consumer.leave()
    await world.commit(("orders", 0, 7))
    written = len(world.log.batches)
    joined = await world.member(member_id="one").join()
    assert joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(world.log.batches) == written
    assert not world.coordinator.shards.shard_of("group", 1).groups
    assert await world.committed("orders", 0) == -1
    await world.join_all(world.member())
    assert await world.committed("orders", 0) == 7
    await world.start()
    assert world.group().group_type == "classic"
    assert await world.committed("orders", 0) == 7


async def test_a_simple_group_keeps_its_offsets(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    assert await world.consumer().beat() == ErrorCode.NONE
    assert await world.committed("orders", 0) == 7
    await world.start()
    assert world.group().group_type == "consumer"
    assert await world.committed("orders", 0) == 7


async def upgrade_fails(world):
    """A consumer asks for a group that Kafka cannot convert, and is told so."""
    assert await world.consumer().beat() == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.group().group_type == "classic"


async def test_no_upgrade_while_a_member_without_the_groups_protocol_joins(autojump_clock, world):
    first = classic(world)
    metadata = first.protocols[0][1]
    first.protocols = [("range", metadata), ("roundrobin", metadata)]
    await stable_classic(world, first)
    other = world.member(protocols=[("roundrobin", metadata)])
    await other.join()
    waiting = await world.soon(other.join)
    await upgrade_fails(world)
    assert (await waiting.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    again = [await world.soon(each.join) for each in (first, other)]
    assert [(await each.wait()).error_code for each in again] == [ErrorCode.NONE] * 2


async def test_no_upgrade_before_the_first_generation(autojump_clock, world):
    first = classic(world)
    await first.join()
    waiting = await world.soon(first.join)
    await upgrade_fails(world)
    assert (await waiting.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    await first.join()
    await first.sync()
    assert await world.consumer().beat() == ErrorCode.NONE


async def test_an_upgrade_that_cannot_be_written_leaves_the_group_classic(autojump_clock, world):
    old, new = classic(world), world.consumer()
    await stable_classic(world, old)
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await new.beat() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.group().group_type == "classic"
    world.log.failure = None
    assert await old.heartbeat() == ErrorCode.NONE
    await world.start()
    assert await old.heartbeat() == ErrorCode.NONE
    assert await new.beat() == ErrorCode.NONE
    assert world.group().group_type == "consumer"


async def test_a_downgrade_that_cannot_be_written_leaves_the_members(autojump_clock, world):
    old, new = classic(world), world.consumer()
    await stable_classic(world, old)
    await new.beat()
    await settle([old], [new])
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await new.leave() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.group().group_type == "consumer"
    world.log.failure = None
    assert await new.beat() == ErrorCode.NONE
    assert await old.heartbeat() == ErrorCode.NONE
    assert await new.leave() == ErrorCode.NONE
    assert world.group().group_type == "classic"


async def test_a_silent_last_consumer_is_sent_away_when_the_disk_is_back(autojump_clock, world):
    member, new = classic(world, session_timeout_ms=120_000), world.consumer()
    await stable_classic(world, member)
    await new.beat()
    await settle([member], [new])
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    await trio.sleep(60)
    assert world.group().group_type == "consumer"
    world.log.failure = None
    await trio.sleep(60)  # it was loaded anew, and so sessions have begun anew
    assert world.group().group_type == "classic"


async def test_a_classic_member_leaves_while_the_upgrade_is_worked_out(
    autojump_clock, world, monkeypatch
):
    monkeypatch.setattr(large_groups, "LARGE", -1)
    stays, leaves = classic(world), classic(world)
    await stable_classic(world, stays, leaves)
    request = LeaveGroupRequest(
        group_id="group", members=[MemberIdentity(member_id=leaves.member_id)]
    )
    runs: list[object] = []

    def leave() -> None:
        runs.append(world.coordinator.classic.leave_group(Context(), request))

    joins = ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id="new",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    steps = world.coordinator.consumer.heartbeat_in_steps(Context(), rows_of(joins))
    assert ended(steps, leave).error_code == ErrorCode.NONE
    assert len(runs) == 1
    assert set(world.group().members) == {stays.member_id, "new"}
    await world.start()
    assert set(world.group().members) == {stays.member_id, "new"}
