"""A modern group: its state, which follows from its epochs, and groups that are of another type."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember
from kafkalite.group_coordinator.modern_group import (
    MemberTimers,
    ModernGroup,
    ModernGroupState,
    existing,
)
from kafkalite.group_coordinator.modern_member import MemberState
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.timers import Timers
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.group_coordinator.in_memory import through_the_log

A = UUID(int=1)
EVERY_TYPE = [ConsumerGroup, ShareGroup, StreamsGroup]


def group_of(
    *members: ConsumerMember, epoch: int, assignment_epoch: int | None = None
) -> ConsumerGroup:
    group = ConsumerGroup("readers")
    for member in members:
        through_the_log(
            group,
            consumer_records.member("readers", member),
            consumer_records.current_assignment("readers", member),
        )
    group.epoch = epoch
    group.assignment_epoch = epoch if assignment_epoch is None else assignment_epoch
    return group


def member(member_id: str, epoch: int, state: MemberState = MemberState.STABLE) -> ConsumerMember:
    return ConsumerMember(member_id=member_id, member_epoch=epoch, state=state)


@pytest.mark.parametrize(
    ("group", "state"),
    [
        (group_of(epoch=3), ModernGroupState.EMPTY),
        (group_of(member("a", 3), epoch=4, assignment_epoch=3), ModernGroupState.ASSIGNING),
        (group_of(member("a", 4), member("b", 3), epoch=4), ModernGroupState.RECONCILING),
        (group_of(member("a", 4, MemberState.UNREVOKED), epoch=4), ModernGroupState.RECONCILING),
        (group_of(member("a", 4), member("b", 4), epoch=4), ModernGroupState.STABLE),
    ],
)
def test_the_state_follows_from_the_epochs(group: ConsumerGroup, state: ModernGroupState) -> None:
    assert group.state is state


@pytest.mark.parametrize("kind", EVERY_TYPE)
def test_a_group_with_members_cannot_be_deleted(kind: type) -> None:
    group: ModernGroup = kind("group")
    group.validate_delete()
    group.members["m"] = group.new_member("m")
    with pytest.raises(KafkaError) as refused:
        group.validate_delete()
    assert refused.value.code is ErrorCode.NON_EMPTY_GROUP


def test_a_member_that_is_gone_has_no_timers() -> None:
    group = group_of(member("a", 3), epoch=3)
    timers = group.timers["a"] = MemberTimers(lambda: None)
    clock = Timers(lambda: 0.0)
    for timer in timers.all():
        clock.set(timer, 1)
    through_the_log(group, *group.records.no_member("readers", "a"))
    assert group.timers == {}
    assert not any(timer.is_set for timer in timers.all())


@pytest.mark.parametrize("kind", EVERY_TYPE)
def test_a_group_that_is_missing_or_of_another_type(kind: type) -> None:
    there = kind("g")
    assert existing(kind, "g", there) is there
    classic = ClassicGroup("g", now_ms=0)
    for found, named, message in (
        (None, "Group", "Group g not found."),
        (None, "Share group", "Share group g not found."),
        (classic, "Share group", f"Group g is not a {there.group_type} group."),
    ):
        with pytest.raises(KafkaError) as refused:
            existing(kind, "g", found, named)
        assert refused.value.code is ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.value.message == message


def test_a_member_is_found_or_unknown() -> None:
    group = group_of(member("a", 3), epoch=3)
    assert group.member("a").member_epoch == 3
    with pytest.raises(KafkaError) as refused:
        group.member("b")
    assert refused.value.code is ErrorCode.UNKNOWN_MEMBER_ID
