"""Requests about streams groups: groups of other kinds, description, the end (KIP-1071)."""

from __future__ import annotations

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.streams_group_heartbeat import Endpoint
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.streams_instances import (
    STATEFUL,
    described,
    instances,
    quick,
    settle,
)

__all__ = ["quick"]  # the fixture


async def test_other_protocols_and_the_end(autojump_clock, quick):
    (a,) = instances(quick, "a")
    settle(a)
    coordinator = quick.coordinator
    join = JoinGroupRequest(group_id="app", session_timeout_ms=10_000, protocol_type="consumer")
    response = await coordinator.join_group(Context(), join)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    deleted = drained(coordinator.administration.deleting_group(Context(), "app"))
    assert deleted.error_code == ErrorCode.NON_EMPTY_GROUP
    (found,) = drained(coordinator.administration.list_groups(Context(), [], ["streams"]))
    assert (found.group_id, found.group_type, found.group_state) == ("app", "streams", "Stable")
    a.send(member_epoch=-1)
    assert described(quick).group_state == "Empty"
    deleted = drained(coordinator.administration.deleting_group(Context(), "app"))
    assert deleted.error_code == ErrorCode.NONE
    assert described(quick).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    await quick.start()
    assert described(quick).error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_what_was_decided_with_the_first_heartbeat_is_decided_again(autojump_clock, quick):
    """Kafka forgets it with the group that it made for the answer."""
    quick.topics.counts["store"] = 4
    (a,) = instances(quick, "a", topology=STATEFUL)
    for expected in (0, 0, 4):
        if expected:  # those who only look see it with the next record
            for number in range(50):  # in each partition
                await quick.commit(("orders", 0, 5), group_id=f"other-{number}")
        assert a.beat() == ErrorCode.NONE
        topology = described(quick).topology
        assert topology is not None
        assert topology.subtopologies[0].state_changelog_topics[0].partitions == expected
    assert described(quick).group_epoch == a.epoch


@pytest.mark.parametrize(
    ("group_id", "code"),
    [("", ErrorCode.INVALID_GROUP_ID), ("nil", ErrorCode.GROUP_ID_NOT_FOUND)],
)
async def test_groups_that_are_not_there(autojump_clock, quick, group_id, code):
    found = quick.coordinator.streams.describe(Context(), group_id)
    assert (found.group_id, found.error_code) == (group_id, code)


async def test_a_consumer_group_stays_one(autojump_clock, quick):
    consumer = quick.consumer("app")
    await consumer.beat()
    (a,) = instances(quick, "a")
    assert a.beat() == ErrorCode.GROUP_ID_NOT_FOUND
    assert a.send(member_epoch=-1, topology=None).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    found = described(quick)
    assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert found.error_message == "Group app is not a streams group."


async def test_another_node_coordinates(autojump_clock, quick):
    found = quick.coordinator.streams.describe(Context(node_id=2), "app")
    assert found.error_code == ErrorCode.NOT_COORDINATOR


async def test_offsets_alone_make_room_for_members(autojump_clock, quick):
    codes = await quick.commit(("orders", 0, 5), group_id="app")
    assert codes == [ErrorCode.NONE]
    (a,) = instances(quick, "a")
    settle(a)
    assert a.active == {0, 1, 2, 3}
    await quick.start()
    assert described(quick).group_state == "Stable"


@pytest.mark.parametrize(("has_offsets", "epoch"), [(False, 0), (True, 1)])
async def test_the_first_answer_tells_the_epoch_of_endpoints_if_the_id_was_known(
    autojump_clock, quick, has_offsets, epoch
):
    if has_offsets:
        await quick.commit(("orders", 0, 5), group_id="app")
    (a,) = instances(quick, "a")
    response = a.send(user_endpoint=Endpoint(host="one", port=1))
    assert response.endpoint_information_epoch == epoch
