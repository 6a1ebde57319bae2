"""Heartbeats of a streams group that say nothing, in a group that has nothing to do; and what there
is to do all the same."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kafkalite.group_coordinator.streams_topology import Status
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    Topology,
)
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.streams_instances import (
    PLAIN,
    Instance,
    described,
    instances,
    quick,
    settle,
)

__all__ = ["quick"]  # the fixture


def statuses(answer: StreamsGroupHeartbeatResponse) -> set[int]:
    assert answer.error_code == ErrorCode.NONE
    return {status.status_code for status in answer.status or ()}


async def test_nothing_is_written_and_the_session_begins_anew(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    written = len(quick.log.batches)
    for _ in range(3):
        await trio.sleep(40)
        answer = a.quiet()
        assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, a.epoch)
        assert [getattr(answer, kind) for kind in ("active_tasks", "status")] == [None, []]
        assert answer.heartbeat_interval_ms == 5_000
    assert len(quick.log.batches) == written
    await trio.sleep(46)
    assert a.quiet().error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "fields",
    [
        {"process_id": "another"},
        {"user_endpoint": Endpoint(host="h", port=1)},
        {"client_tags": [KeyValue(key="zone", value="a")]},
        {"rack_id": "r"},
        {"rebalance_timeout_ms": 7},
        {"caller": Context(client_id="another")},
        {"caller": Context(client_host="127.0.0.2")},
    ],
    ids=lambda fields: next(iter(fields)),
)
async def test_news_of_the_member_are_taken_in(
    autojump_clock, quick, fields: dict[str, Any]
) -> None:
    (a,) = instances(quick, "a")
    settle(a)
    before = described(quick).group_epoch
    assert a.quiet(**fields).error_code == ErrorCode.NONE
    assert described(quick).group_epoch == before + 1


async def test_tasks_that_are_named_are_looked_at(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    for kind in ("active_tasks", "standby_tasks"):
        named = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        answer = a.send(**named | {kind: [TaskIds(subtopology_id="9", partitions=[0])]})
        assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_another_epoch_is_fenced(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    assert a.quiet(member_epoch=a.epoch + 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH


async def test_who_asks_all_to_shut_down_is_heard(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a, b)
    assert statuses(a.quiet(shutdown_application=True)) == {Status.SHUTDOWN_APPLICATION}
    assert statuses(b.quiet()) == {Status.SHUTDOWN_APPLICATION}


async def test_an_older_topology_is_told_each_time(autojump_clock, quick):
    newer = Topology(epoch=1, subtopologies=PLAIN.subtopologies)
    a, b = Instance(quick, "a", topology=newer), Instance(quick, "b")
    settle(a, b)
    assert statuses(b.quiet()) == statuses(b.quiet()) == {Status.STALE_TOPOLOGY}
    assert statuses(a.quiet()) == set()


async def test_missing_topics_are_told_each_time(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    quick.set_partitions("orders", 0)
    settle(a)
    assert statuses(a.quiet()) == statuses(a.quiet()) == {Status.MISSING_SOURCE_TOPICS}


async def test_a_topic_that_grows_is_seen(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    before = described(quick).group_epoch
    quick.set_partitions("orders", 6)
    answer = a.quiet()
    assert described(quick).group_epoch == before + 1
    assert answer.member_epoch == before + 1
    assert [each.partitions for each in answer.active_tasks or ()] == [list(range(6))]


async def test_another_number_of_standbys_is_seen(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    before = described(quick).group_epoch
    quick.group_configs["app"] = {"streams.num.standby.replicas": "1"}
    a.quiet()
    assert described(quick).group_epoch == before + 1


async def test_a_new_target_is_told(autojump_clock, quick):
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    answer = a.quiet()
    assert [len(each.partitions) for each in answer.active_tasks or ()] == [2]


async def test_an_assignment_that_is_due_is_made(autojump_clock, quick):
    await quick.start(group_streams_assignment_interval_ms=10_000)
    a, b = instances(quick, "a", "b")
    settle(a)
    b.beat()
    assert statuses(a.quiet()) == {Status.ASSIGNMENT_DELAYED}
    await trio.sleep(10.1)
    before = described(quick).assignment_epoch
    assert statuses(a.quiet()) == set()
    assert described(quick).assignment_epoch == before + 1
