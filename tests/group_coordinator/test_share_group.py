"""A share group: partitions that are ready, and what it has not: offsets in its own log."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.share_group import ShareGroup, ShareMember
from kafkalite.group_coordinator.share_records import StateTopic
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.share_consumers import settle

ORDERS = UUID(int=1)


async def test_an_empty_share_group_stays(autojump_clock, world, consumers):
    """Its offsets are with the share coordinator, which no retention touches."""
    (a,) = consumers("a")
    await settle(a)
    a.beat(member_epoch=-1)
    await trio.sleep(8 * 86_400)
    (listed,) = drained(world.coordinator.administration.list_groups(Context(), [], []))
    assert (listed.group_id, listed.group_state) == ("queue", "Empty")


def with_states(*ready: int) -> ShareGroup:
    """A member of orders, of which it is to have partition 0, and partitions with a state."""
    group = ShareGroup("queue")
    member = ShareMember(member_id="m", subscribed_topic_names=frozenset({"orders"}))
    states = {ORDERS: StateTopic("orders", frozenset(ready), 0)}
    for change in (
        share_records.member("queue", member),
        share_records.target("queue", "m", {ORDERS: frozenset({0})}),
        share_records.state_topics("queue", {}, states, {}),
    ):
        group.apply(*change)
    return group


def test_a_partition_may_be_fetched_once_it_has_a_state() -> None:
    group = with_states(0, 2)
    assert [group.is_ready(ORDERS, index) for index in range(3)] == [True, False, True]
    assert not group.is_ready(UUID(int=9), 0)


@pytest.mark.parametrize(("ready", "unassigned"), [((0,), False), ((0, 2), True), ((), True)])
def test_partitions_with_a_state_and_without_a_member(ready: tuple[int, ...], unassigned: bool):
    assert with_states(*ready).has_unassigned_state() is unassigned


def test_states_of_topics_that_no_member_reads_do_not_matter() -> None:
    group = with_states(0, 2)
    for change in share_records.RECORDS.no_member("queue", "m"):
        group.apply(*change)
    assert not group.has_unassigned_state()
    assert group.is_empty


def test_share_groups_commit_no_offsets() -> None:
    group = with_states()
    for refuse in (group.validate_offset_commit, group.validate_offset_delete):
        with pytest.raises(KafkaError) as refused:
            refuse()
        assert refused.value.code is ErrorCode.GROUP_ID_NOT_FOUND
    group.validate_offset_fetch("m", 1)
    assert group.offsets_expire_from(0) is None
