"""Streams groups: epochs, tasks handed over, silence, topics that change (KIP-1071)."""

from __future__ import annotations

import trio

from kafkalite.group_coordinator.streams_topology import Status
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.rows import rows_of
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.streams_instances import (
    STATEFUL,
    described,
    instances,
    listed,
    quick,
    settle,
)

__all__ = ["quick"]  # the fixture


async def test_the_first_member_gets_all(autojump_clock, quick):
    (a,) = instances(quick, "a")
    assert a.beat() == ErrorCode.NONE
    assert (a.epoch, a.active, a.statuses) == (2, {0, 1, 2, 3}, set())
    assert a.send().active_tasks is None, "nothing has changed"
    assert described(quick).group_state == "Stable"


async def test_tasks_are_handed_over_one_after_the_other(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    assert b.beat() == ErrorCode.NONE
    assert b.active == set(), "the other has yet to give them up"
    kept = set(a.active)
    assert a.beat(active_tasks=listed(kept)) == ErrorCode.NONE
    assert len(a.active) == 2
    assert b.beat() == ErrorCode.NONE
    assert b.active == set(), "asked for, but not confirmed"
    settle(a, b)
    assert a.active | b.active == {0, 1, 2, 3}
    assert a.epoch == b.epoch == 3
    assert described(quick).group_state == "Stable"


async def test_a_member_moves_to_another_process(autojump_clock, world):
    """Its tasks are held against its old process still, as in Kafka: standbys may be here."""
    await world.start(
        group_streams_initial_rebalance_delay_ms=0,
        group_streams_assignment_interval_ms=0,
        group_streams_num_standby_replicas=1,
    )
    world.topics.counts["store"] = 4
    a, b = instances(world, "a", "b", topology=STATEFUL)
    for each in (a, b):
        assert each.beat() == ErrorCode.NONE
    a.rejoins()
    assert a.beat(process_id="another") == ErrorCode.NONE
    assert (len(a.active), len(a.standby)) == (2, 2)
    b.beat()
    assert b.active == a.standby


async def test_a_member_moves_to_the_process_of_another(autojump_clock, world):
    """The standbys that it gives up are free there, as in Kafka, though the other has them, too:
    until the other changes, and not yet while it does."""
    await world.start(
        group_streams_initial_rebalance_delay_ms=0,
        group_streams_assignment_interval_ms=0,
        group_streams_num_standby_replicas=2,
    )
    world.topics.counts["store"] = 4
    a, b, c = instances(world, "a", "b", "c", topology=STATEFUL)
    for each in (a, b, c):
        assert each.beat() == ErrorCode.NONE
    assert (b.standby, c.standby) == ({0, 1}, {0, 1, 2})
    a.send(member_epoch=-1)
    b.rejoins()
    assert b.beat(process_id="process-c") == ErrorCode.NONE
    assert b.active == set()
    b.beat()
    assert b.active == {0}
    c.rejoins()
    assert c.beat(rebalance_timeout_ms=20_000) == ErrorCode.NONE
    assert c.active == {1, 3}
    b.beat()
    assert b.active == {0, 2}


async def test_a_member_leaves(autojump_clock, quick):
    a, b, c = instances(quick, "a", "b", "c")
    settle(a, b, c)
    assert b.send(member_epoch=-1).error_code == ErrorCode.NONE
    settle(a, c)
    assert a.active | c.active == {0, 1, 2, 3}
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_silence(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    for _ in range(10):
        await trio.sleep(5)
        assert a.beat() == ErrorCode.NONE
    settle(a)
    assert a.active == {0, 1, 2, 3}
    assert b.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_member_that_does_not_give_up_its_tasks(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    for _ in range(8):
        await trio.sleep(5)
        response = a.send(active_tasks=listed({0, 1, 2, 3}))
        b.beat()
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID, "after its rebalance timeout"
    settle(b)
    assert b.active == {0, 1, 2, 3}


async def test_what_is_refused_changes_nothing(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    before, written = described(quick), len(quick.log.batches)
    for fields, code in (
        ({"topology": STATEFUL, "member_epoch": 0}, ErrorCode.INVALID_REQUEST),
        ({"active_tasks": listed({9})}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 1, "active_tasks": listed({0, 9})}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"member_epoch": 9}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"member_id": "b"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        values = {"process_id": "another", "rebalance_timeout_ms": 1} | fields
        if fields.get("member_epoch") == 0:
            values |= {"active_tasks": [], "standby_tasks": []}
        assert a.send(**values).error_code == code, fields
    assert (described(quick), len(quick.log.batches)) == (before, written)


async def test_an_answer_that_was_lost(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    lost = a.send(active_tasks=listed({0, 1}))
    assert lost.error_code == ErrorCode.NONE
    assert a.beat(active_tasks=listed({0, 1})) == ErrorCode.NONE


async def test_a_source_that_grows_or_goes(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    quick.set_partitions("orders", 6)
    settle(a)
    assert a.active == set(range(6))
    quick.set_partitions("orders", 0)
    settle(a)
    assert (a.active, a.statuses) == (set(), {Status.MISSING_SOURCE_TOPICS})
    assert described(quick).group_state == "NotReady"
    quick.set_partitions("orders", 2)
    settle(a)
    assert (a.active, a.statuses) == ({0, 1}, set())


async def test_internal_topics(autojump_clock, quick):
    (a,) = instances(quick, "a", topology=STATEFUL)
    request = StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="a",
        topology=STATEFUL,
        rebalance_timeout_ms=1000,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    answered = quick.coordinator.streams.heartbeat(Context(), rows_of(request))
    (topic,) = answered.to_create.values()
    assert (topic.name, topic.partition_count) == ("store", 4)
    quick.set_partitions("store", 3)
    settle(a)
    assert a.statuses == {Status.INCORRECTLY_PARTITIONED_TOPICS}
    quick.set_partitions("store", 4)
    settle(a)
    assert a.active == {0, 1, 2, 3}


async def test_standby_tasks(autojump_clock, quick):
    quick.group_configs["app"] = {"streams.num.standby.replicas": "1"}
    quick.set_partitions("store", 4)
    a, b = instances(quick, "a", "b", topology=STATEFUL)
    settle(a, b, rounds=6)
    assert a.active == b.standby
    assert b.active == a.standby
    assert b.send(member_epoch=-1).error_code == ErrorCode.NONE
    settle(a)
    assert (a.active, a.standby) == ({0, 1, 2, 3}, set())
    quick.group_configs["app"] = {"streams.num.standby.replicas": "9"}
    others = instances(quick, "c", "d", "e", topology=STATEFUL)
    settle(a, *others, rounds=8)
    copies = sorted(index for each in (a, *others) for index in each.standby)
    assert copies == sorted([0, 1, 2, 3] * 2), "no more than group.streams.max.standby.replicas"


async def test_the_answer_with_a_new_epoch_may_be_lost(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    before = a.epoch
    b.beat()
    a.beat()  # is asked to give tasks up
    a.beat()  # has given them up, and is in the new epoch
    assert a.epoch > before
    strange = a.send(member_epoch=before, active_tasks=listed({0, 1, 2, 3}))
    assert strange.error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it has given two of them up"
    untold = {"active_tasks": None, "standby_tasks": None, "warmup_tasks": None}
    silent = a.send(member_epoch=before, **untold)
    assert silent.error_code == ErrorCode.FENCED_MEMBER_EPOCH, "it does not say what it has"
    again = a.send(member_epoch=before)
    assert (again.error_code, again.member_epoch) == (ErrorCode.NONE, a.epoch)


async def test_the_first_assignment_waits_for_others(autojump_clock, quick):
    await quick.start(group_streams_initial_rebalance_delay_ms=3_000)
    a, b = instances(quick, "a", "b")
    assert a.beat() == ErrorCode.NONE
    assert (a.active, a.statuses) == (set(), {Status.ASSIGNMENT_DELAYED})
    await trio.sleep(2)
    assert b.beat() == ErrorCode.NONE
    assert b.statuses == {Status.ASSIGNMENT_DELAYED}
    await trio.sleep(1.5)
    settle(a, b, rounds=2)
    assert sorted(map(len, (a.active, b.active))) == [2, 2]
    assert a.epoch == 3, "one target for both"


async def test_assignments_follow_at_an_interval(autojump_clock, quick):
    await quick.start(group_streams_assignment_interval_ms=10_000)
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    assert b.statuses == {Status.ASSIGNMENT_DELAYED}
    settle(a, b)
    assert a.active == {0, 1, 2, 3}
    await trio.sleep(10.1)
    settle(a, b)
    assert a.active | b.active == {0, 1, 2, 3}
    assert len(b.active) == 2


async def test_no_more_members_than_allowed(autojump_clock, quick):
    await quick.start(group_streams_max_size=1)
    a, b = instances(quick, "a", "b")
    settle(a)
    assert b.beat() == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_what_a_group_has_configured(autojump_clock, quick):
    quick.group_configs["app"] = {
        "streams.heartbeat.interval.ms": "7000",
        "streams.session.timeout.ms": "50000",
    }
    (a,) = instances(quick, "a")
    assert a.send().heartbeat_interval_ms == 7000
    await trio.sleep(49)
    a.epoch = 2
    assert a.beat(active_tasks=listed({0, 1, 2, 3})) == ErrorCode.NONE


async def test_all_are_asked_to_shut_down(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    assert a.beat(shutdown_application=True) == ErrorCode.NONE
    b.beat()
    assert b.statuses == {Status.SHUTDOWN_APPLICATION}


async def test_a_log_that_cannot_be_written(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    before = described(quick)
    quick.log.failure = ErrorCode.NOT_COORDINATOR
    assert b.beat() == ErrorCode.NOT_COORDINATOR
    quick.log.failure = None
    assert described(quick) == before
    settle(a, b)
