"""Records of share groups: applied they give what was written, and tombstones end it."""

from __future__ import annotations

from uuid import UUID

from kafkalite.group_coordinator import share_records, state_log
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.share_group import ShareGroup, ShareMember
from kafkalite.group_coordinator.share_records import StateTopic
from kafkalite.group_coordinator.state_log import ReplayedRecord

ORDERS, PAYMENTS, GONE = UUID(int=1), UUID(int=2), UUID(int=3)
NOW_MS = 1_700_000_000_000
MEMBER = ShareMember(
    member_id="m",
    rack_id="r",
    client_id="c",
    client_host="/h",
    subscribed_topic_names=frozenset({"orders", "payments"}),
    member_epoch=5,
    previous_member_epoch=4,
    assigned={ORDERS: frozenset({0, 2})},
)
TARGET = {ORDERS: frozenset({0, 2}), PAYMENTS: frozenset({1})}


def through_the_log(group: ShareGroup, *changes: Change) -> None:
    """Encoded, decoded, applied."""
    for offset, change in enumerate(changes):
        key, value = state_log.encoded(*change)
        decoded = state_log.decoded(ReplayedRecord(offset, key, value))
        assert decoded is not None
        group.apply(*decoded, NOW_MS)


def full() -> ShareGroup:
    group = ShareGroup("queue")
    through_the_log(
        group,
        share_records.member("queue", MEMBER),
        share_records.group("queue", 6, -9),
        share_records.target("queue", "m", TARGET),
        share_records.assignment_epoch("queue", 5, 1234),
        share_records.current_assignment("queue", MEMBER),
        share_records.state_topics(
            "queue",
            {PAYMENTS: StateTopic("payments", frozenset({1}), 0)},
            {ORDERS: StateTopic("orders", frozenset({0, 2}), 0)},
            {GONE: "gone"},
        ),
    )
    return group


def test_all_comes_back() -> None:
    group = full()
    assert group.members == {"m": MEMBER}
    assert (group.epoch, group.metadata_hash) == (6, -9)
    assert (group.assignment_epoch, group.assigned_at_ms) == (5, 1234)
    assert group.targets == {"m": TARGET}
    assert group.has_state_topics
    assert group.initializing == {PAYMENTS: StateTopic("payments", frozenset({1}), NOW_MS)}
    assert group.initialized == {ORDERS: StateTopic("orders", frozenset({0, 2}), NOW_MS)}
    assert group.deleting == {GONE: "gone"}


def test_the_log_has_partitions_in_order() -> None:
    _, value = share_records.current_assignment("queue", MEMBER)
    assert [each.partitions for each in value.assigned_partitions] == [[0, 2]]
    assert value.state == share_records.STABLE


def test_a_member_ends() -> None:
    group = full()
    through_the_log(group, *share_records.no_member("queue", "m"))
    assert (group.members, group.targets) == ({}, {})
    assert group.epoch == 6


def test_a_group_ends_with_all_that_is_in_it() -> None:
    group = full()
    changes = share_records.no_group("queue", group.members)
    assert all(value is None for _, value in changes)
    written = {
        state_log.encoded(*change)[0]
        for change in (
            share_records.member("queue", MEMBER),
            share_records.group("queue", 6, -9),
            share_records.target("queue", "m", TARGET),
            share_records.assignment_epoch("queue", 5, 1234),
            share_records.current_assignment("queue", MEMBER),
            share_records.state_topics("queue", {}, {}, {}),
        )
    }
    assert {state_log.encoded(*change)[0] for change in changes} == written
    through_the_log(group, *changes)
    assert not group.members
    assert not group.has_state_topics
