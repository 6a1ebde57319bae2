"""Records of share groups: applied they give what was written, and tombstones end it."""

from __future__ import annotations

from uuid import UUID

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.share_group import ShareGroup, ShareMember
from kafkalite.group_coordinator.share_records import StateTopic
from tests.group_coordinator.in_memory import through_the_log

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


CHANGES = [
    share_records.member("queue", MEMBER),
    share_records.RECORDS.group_epoch("queue", 6, -9),
    share_records.target("queue", "m", TARGET),
    share_records.RECORDS.assignment_epoch("queue", 5, 1234),
    share_records.current_assignment("queue", MEMBER),
    share_records.state_topics(
        "queue",
        {PAYMENTS: StateTopic("payments", frozenset({1}), 0)},
        {ORDERS: StateTopic("orders", frozenset({0, 2}), 0)},
        {GONE: "gone"},
    ),
]


def test_all_comes_back() -> None:
    group = ShareGroup("queue")
    through_the_log(group, *CHANGES, now_ms=NOW_MS)
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
    assert value.state == 0
