"""OffsetCommit, OffsetFetch, OffsetDelete, and expiry."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio

from kafkalite.group_coordinator.offset_table import NO_TOPIC_ID
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequestGroup
from tests.group_coordinator.conftest import Context
from tests.group_coordinator.transactional_offsets import txn_commit

DAY = 24 * 60 * 60.0


async def test_what_is_committed_is_fetched(autojump_clock, world):
    assert await world.commit(("orders", 0, 7), ("payments", 1, 9)) == [0, 0]
    assert await world.committed("orders", 0) == 7
    assert await world.committed("payments", 1) == 9
    assert await world.committed("payments", 0) == -1


async def test_an_unknown_group_has_no_offsets_and_that_is_no_error(autojump_clock, world):
    fetched = await world.fetch_one("orders", 0)
    assert (fetched.error_code, fetched.committed_offset, fetched.metadata) == (0, -1, "")
    assert fetched.committed_leader_epoch == -1


async def test_metadata_comes_back_verbatim(autojump_clock, world):
    commit = {"committed_metadata": "söme text", "committed_leader_epoch": 3}
    assert await world.commit(("orders", 0, 7), partition_fields=commit) == [0]
    fetched = await world.fetch_one("orders", 0)
    assert (fetched.metadata, fetched.committed_leader_epoch) == ("söme text", 3)


async def test_a_group_of_whose_offsets_none_is_kept(autojump_clock, world):
    """It is there for those who commit, and for those who look once something else is written."""
    too_much = {"committed_metadata": "x" * 4097}
    assert await world.commit(("orders", 0, 7), partition_fields=too_much) == [12]
    nobodys = {"generation_id_or_member_epoch": 0, "version": 8}
    assert await world.commit(("orders", 0, 7), **nobodys) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert await world.state() == "Dead"
    assert (
        drained(world.coordinator.administration.list_groups(world.member().context, [], [])) == []
    )
    partition = world.coordinator.partition_for("group")
    other = next(
        name for name in map(str, range(99)) if world.coordinator.partition_for(name) == partition
    )
    assert await world.commit(("orders", 0, 7), group_id=other) == [0]
    assert await world.state() == "Empty"
    listed = drained(world.coordinator.administration.list_groups(world.member().context, [], []))
    assert {group.group_id for group in listed} == {"group", other}


async def test_a_commit_for_nothing_that_is_there_makes_no_group(autojump_clock, world):
    assert await world.commit(("orders", 99, 7), ("unknown", 0, 7)) == [3, 3]
    nobodys = {"generation_id_or_member_epoch": 0, "version": 8}
    assert await world.commit(("orders", 0, 7), **nobodys) == [ErrorCode.ILLEGAL_GENERATION]


@pytest.mark.parametrize(
    ("version", "error_code"),
    [(9, ErrorCode.GROUP_ID_NOT_FOUND), (8, ErrorCode.ILLEGAL_GENERATION)],
)
async def test_members_of_a_group_nobody_knows(autojump_clock, world, version, error_code):
    codes = await world.commit(
        ("orders", 0, 7), version=version, member_id="x", generation_id_or_member_epoch=1
    )
    assert codes == [error_code]


async def test_members_and_strangers_of_a_stable_group(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    assert await member.commit("orders", 0, 7) == ErrorCode.NONE
    assert await world.commit(("orders", 0, 8)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    member.generation_id += 1
    assert await member.commit("orders", 0, 8) == ErrorCode.ILLEGAL_GENERATION
    assert await world.committed("orders", 0) == 7


async def test_commits_during_a_rebalance(autojump_clock, world):
    """Accepted while members rejoin; not while the assignment is awaited."""
    member = world.member()
    await world.join_all(member)
    await world.soon(world.member(version=3).join)
    assert await world.state() == "PreparingRebalance"
    assert await member.commit("orders", 0, 7) == ErrorCode.NONE
    await member.join()
    assert await world.state() == "CompletingRebalance"
    assert await member.commit("orders", 0, 8) == ErrorCode.REBALANCE_IN_PROGRESS


async def test_an_administrator_commits_for_an_empty_group(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.leave()
    assert await world.commit(("orders", 0, 7)) == [ErrorCode.NONE]


async def test_a_commit_is_a_sign_of_life(autojump_clock, world):
    member = world.member(session_timeout_ms=6_000)
    await world.join_all(member)
    for offset in range(5):
        await trio.sleep(5)
        assert await member.commit("orders", 0, offset) == ErrorCode.NONE


async def test_all_offsets_are_fetched_with_null_topics(autojump_clock, world):
    await world.commit(("orders", 0, 7), ("payments", 1, 9))
    response = await world.coordinator.offset_fetch(
        world.member().context,
        OffsetFetchRequestGroup(group_id="group", topics=None),
        require_stable=False,
    )
    assert {
        (topic.name, p.partition_index): p.committed_offset
        for topic in response.topics
        for p in topic.partitions
    } == {("orders", 0): 7, ("payments", 1): 9}


async def test_who_may_commit_in_a_transaction(autojump_clock, world):
    assert (
        await txn_commit(world, 1, "orders", 0, 1, member_id="x", generation_id=1)
        == ErrorCode.ILLEGAL_GENERATION
    )
    member = world.member()
    await world.join_all(member)
    ids = {"member_id": member.member_id, "generation_id": member.generation_id}
    assert await txn_commit(world, 1, "orders", 0, 1, **ids) == ErrorCode.NONE
    assert await txn_commit(world, 1, "orders", 0, 1) == ErrorCode.NONE
    stale = ids | {"generation_id": 0}
    assert await txn_commit(world, 1, "orders", 0, 1, **stale) == ErrorCode.ILLEGAL_GENERATION
    stranger = ids | {"member_id": "x"}
    assert await txn_commit(world, 1, "orders", 0, 1, **stranger) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_offsets_of_a_simple_group_expire_after_their_commit(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    await trio.sleep(6 * DAY)
    await world.commit(("orders", 1, 8))
    await trio.sleep(1.01 * DAY)
    assert await world.committed("orders", 0) == -1
    assert await world.committed("orders", 1) == 8
    await trio.sleep(6 * DAY)
    assert await world.state() == "Dead"


async def test_what_has_expired_is_gone_after_a_restart(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    await trio.sleep(6 * DAY)
    await world.commit(("orders", 1, 8))
    await trio.sleep(1.01 * DAY)
    await world.start()
    assert await world.committed("orders", 0) == -1
    assert await world.committed("orders", 1) == 8
    await trio.sleep(6 * DAY)
    await world.start()
    assert await world.state() == "Dead"


async def test_offsets_of_a_group_expire_after_it_became_empty(autojump_clock, world):
    member = world.member(session_timeout_ms=1_800_000)
    await world.join_all(member)
    await member.commit("orders", 0, 7)
    for _ in range(200):
        await trio.sleep(0.05 * DAY / 3)
        await member.heartbeat()
    await member.leave()
    await trio.sleep(6.9 * DAY)
    assert await world.committed("orders", 0) == 7
    await trio.sleep(0.2 * DAY)
    assert await world.committed("orders", 0) == -1
    assert await world.state() == "Dead"


async def test_a_sweep_over_very_many_offsets_lets_others_have_their_turn(autojump_clock, world):
    groups = [f"group-{number}" for number in range(200)]
    for group_id in groups:
        keys = [("orders", partition, 7) for partition in range(4)]
        assert await world.commit(*keys, group_id=group_id) == [ErrorCode.NONE] * 4
    await trio.sleep(6.99 * DAY)
    assert await world.commit(("orders", 3, 8), group_id=groups[-1]) == [ErrorCode.NONE]
    left = [800]

    class Looking(trio.abc.Instrument):
        def after_task_step(self, task):
            left.append(sum(map(len, world.coordinator.interventions.committed_offsets())))

    trio.lowlevel.add_instrument(looking := Looking())
    await trio.sleep(0.02 * DAY)
    trio.lowlevel.remove_instrument(looking)
    steps = [before - after for before, after in pairwise(left) if before > after]
    assert sum(steps) == 799
    assert max(steps) <= 300
    assert await world.committed("orders", 3, group_id=groups[-1]) == 8
    assert await world.state(groups[0]) == "Dead"


async def test_a_living_consumer_group_loses_what_nobody_subscribes_to(autojump_clock, world):
    await world.start(group_max_session_timeout_ms=2_000_000_000)
    subscription = b"\0\0" + b"\0\0\0\1" + b"\0\6orders" + b"\xff\xff\xff\xff"
    member = world.member(protocols=[("range", subscription)], session_timeout_ms=1_900_000_000)
    await world.join_all(member)
    await member.commit("orders", 0, 7)
    await member.commit("payments", 0, 9)
    await trio.sleep(7.1 * DAY)
    assert await world.committed("orders", 0) == 7
    assert await world.committed("payments", 0) == -1


async def test_an_old_client_chooses_its_own_retention(autojump_clock, world):
    await world.commit(("orders", 0, 7), version=4, retention_time_ms=3_600_000)
    await trio.sleep(3_000)
    assert await world.committed("orders", 0) == 7
    await world.start()
    assert await world.committed("orders", 0) == 7
    await trio.sleep(1_300)
    assert await world.committed("orders", 0) == -1


@pytest.mark.parametrize("retention_ms", [(1 << 63) - 1, -2, -(1 << 63)])
async def test_a_time_that_is_no_time_ends_at_once(autojump_clock, world, retention_ms):
    """Also after a start: Java's sums begin anew with the lowest number."""
    await world.commit(("orders", 0, 7), version=4, retention_time_ms=retention_ms)
    assert await world.committed("orders", 0) == 7
    await world.start()
    assert await world.committed("orders", 0) == 7
    await trio.sleep(700)
    assert await world.committed("orders", 0) == -1


async def test_a_group_that_changes_while_very_many_offsets_are_checked(autojump_clock, world):
    """It is refused as a whole: whether it may commit is asked again before it is written."""
    topics = [("orders", NO_TOPIC_ID, [(0, offset, -1, "") for offset in range(1000)])]
    steps = world.coordinator.offset_router.committing(
        Context(9), ("group", -1, "", None, -1, topics)
    )
    next(steps)
    await world.join_all(world.member())
    written = len(world.log.batches)
    ((_, _, rows),) = drained(steps)
    assert {code for _, code in rows} == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert len(rows) == 1000
    assert len(world.log.batches) == written
    assert await world.committed("orders", 0) == -1


async def test_very_many_offsets_are_one_batch(autojump_clock, world):
    topics = [("orders", NO_TOPIC_ID, [(0, offset, -1, "") for offset in range(1000)])]
    request = ("group", -1, "", None, -1, topics)
    ((_, _, rows),) = drained(world.coordinator.offset_router.committing(Context(9), request))
    assert rows == [(0, ErrorCode.NONE)] * 1000
    assert len(world.log.batches) == 1
    assert await world.committed("orders", 0) == 999
