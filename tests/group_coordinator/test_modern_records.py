"""The records that all modern groups have alike: what ends a member, and what ends a group."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafkalite.group_coordinator import consumer_records, share_records, streams_records
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.modern_member import MemberState
from kafkalite.group_coordinator.modern_records import ModernRecords, listed
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.state_log import encoded
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.wire.messages.consumer_group_heartbeat import TopicPartitions
from tests.group_coordinator import test_share_records, test_streams_records
from tests.group_coordinator.in_memory import through_the_log

A, B = UUID(int=1), UUID(int=2)
MEMBER = ConsumerMember(
    member_id="m",
    instance_id="i",
    client_id="c",
    client_host="/h",
    rebalance_timeout_ms=7,
    subscribed_topic_names=frozenset({"orders"}),
    subscribed_topic_regex="pay.*",
    member_epoch=5,
    previous_member_epoch=4,
    assigned={A: {0: 3, 1: 5}},
    pending_revocation={B: {7: 2}},
)
CONSUMER_CHANGES = [
    consumer_records.member("readers", MEMBER),
    consumer_records.RECORDS.group_epoch("readers", 6, -9),
    consumer_records.regular_expression("readers", "pay.*", ["payments"], 6, 1234),
    consumer_records.target("readers", "m", {A: frozenset({0, 1})}),
    consumer_records.RECORDS.assignment_epoch("readers", 5, 1234),
    consumer_records.current_assignment("readers", MEMBER),
]
every_type = pytest.mark.parametrize(
    ("group", "changes"),
    [
        (lambda: ConsumerGroup("readers"), CONSUMER_CHANGES),
        (lambda: ShareGroup("queue"), test_share_records.CHANGES),
        (lambda: StreamsGroup("app"), test_streams_records.CHANGES),
    ],
    ids=["consumer", "share", "streams"],
)


STATES = (MemberState.STABLE, MemberState.UNREVOKED, MemberState.UNRELEASED, MemberState.UNKNOWN)


@pytest.mark.parametrize(
    ("records", "numbers"),
    [
        (consumer_records.RECORDS, (0, 1, 2, 127)),
        (share_records.RECORDS, (0, 1, 2, 127)),
        (streams_records.RECORDS, (1, 2, 3, 127)),
    ],
    ids=["consumer", "share", "streams"],
)
def test_kafkas_numbers_of_the_states_of_members(
    records: ModernRecords, numbers: tuple[int, ...]
) -> None:
    assert tuple(records.number_of(state) for state in STATES) == numbers
    assert tuple(records.state_of(number) for number in numbers) == STATES
    assert records.state_of(9) is records.state_of(-1) is MemberState.UNKNOWN


def full(group: Any, changes: Sequence[Change]) -> ModernGroup[Any, Any]:
    made = group()
    through_the_log(made, *changes)
    return made


def test_all_of_a_consumer_group_comes_back() -> None:
    group = ConsumerGroup("readers")
    through_the_log(group, *CONSUMER_CHANGES)
    assert group.members == {"m": MEMBER}
    assert group.targets == {"m": {A: frozenset({0, 1})}}
    assert (group.epoch, group.metadata_hash) == (6, -9)
    assert (group.assignment_epoch, group.assigned_at_ms) == (5, 1234)
    assert group.expressions == {"pay.*": frozenset({"payments"})}
    assert group.static_member("i") == MEMBER
    assert [group.is_free(A, 0), group.is_free(B, 7), group.is_free(B, 8)] == [False, False, True]


@every_type
def test_a_member_ends(group: Any, changes: Sequence[Change]) -> None:
    ended = full(group, changes)
    tombstones = ended.records.no_member(ended.group_id, "m")
    assert [value for _, value in tombstones] == [None] * 3
    through_the_log(ended, *tombstones)
    assert (ended.members, ended.targets, ended.epoch) == ({}, {}, 6)


def test_nothing_is_left_of_a_member_of_a_consumer_group() -> None:
    group = ConsumerGroup("readers")
    through_the_log(group, *CONSUMER_CHANGES, *consumer_records.RECORDS.no_member("readers", "m"))
    assert group.static_member("i") is None
    assert group.is_free(A, 0)
    assert group.is_free(B, 7)
    assert group.subscribed_topics == frozenset()


def test_a_partition_that_was_given_on_is_free_when_the_second_gives_it_up() -> None:
    group = ConsumerGroup("readers")
    first, second = ConsumerMember(member_id="a"), ConsumerMember(member_id="b")

    def give(member: ConsumerMember, *partitions: int) -> None:
        has = replace(member, assigned={A: dict.fromkeys(partitions, 1)} if partitions else {})
        through_the_log(group, consumer_records.current_assignment("readers", has))

    give(first, 0, 1)
    give(second, 2)
    give(first, 1)
    assert [group.is_free(A, each) for each in range(4)] == [True, False, False, True]
    give(second, 0, 2)
    assert not group.is_free(A, 0)
    give(second, 2)
    assert [group.is_free(A, each) for each in range(4)] == [True, False, False, True]
    through_the_log(group, *consumer_records.RECORDS.no_member("readers", "a"))
    assert [group.is_free(A, each) for each in range(4)] == [True, True, False, True]


def test_a_group_forgets_who_had_the_partitions_of_topics_that_are_gone() -> None:
    group = ConsumerGroup("readers")
    mine = ConsumerMember(member_id="m", assigned={A: {0: 1}})
    group.apply(*consumer_records.current_assignment("readers", mine))
    tracemalloc.start()
    try:
        for number in range(5_000):
            other = {UUID(int=10 + number): {0: 1}}
            moved = ConsumerMember(member_id="n", assigned=other)
            group.apply(*consumer_records.current_assignment("readers", moved))
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 500_000
    assert not group.is_free(A, 0)


@every_type
def test_a_group_ends_with_all_that_is_in_it(group: Any, changes: Sequence[Change]) -> None:
    ended = full(group, changes)
    tombstones = ended.tombstones()
    assert all(value is None for _, value in tombstones)
    assert {key for key, _ in tombstones} == {encoded(*change)[0] for change in changes}
    assert tombstones[-1] == encoded(ended.records.group(group_id=ended.group_id), None)


def test_partitions_in_messages_are_in_order() -> None:
    assert listed(TopicPartitions, {A: frozenset({2, 0, 1}), B: {3: 9}}) == [
        TopicPartitions(topic_id=A, partitions=[0, 1, 2]),
        TopicPartitions(topic_id=B, partitions=[3]),
    ]
