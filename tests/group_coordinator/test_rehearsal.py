"""Changes of a group are worked out on a copy, and count if the group is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember
from kafkalite.group_coordinator.rehearsal import Rehearsal
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.group_coordinator.in_memory import Context

CONTEXT: Any = Context(1)


def group_of(*names: str) -> ConsumerGroup:
    group = ConsumerGroup("group")
    for name in names:
        group.apply(*consumer_records.member("group", ConsumerMember(member_id=name)))
    return group


def adding(name: str) -> Callable[[Changes[ConsumerGroup]], str]:
    def decide(changes: Changes[ConsumerGroup]) -> str:
        changes.add(consumer_records.member("group", ConsumerMember(member_id=name)))
        return name

    return decide


def test_the_group_changes_when_the_outcome_is_taken_over() -> None:
    group = group_of("a")
    rehearsed = Rehearsal(group, 7, adding("b"))
    rehearsed.run()
    assert list(group.members) == ["a"]
    assert rehearsed.is_current
    changes, decision = rehearsed.taken_over()
    assert (changes.group, decision) == (group, "b")
    assert list(group.members) == ["a", "b"]
    assert len(changes.records) == 1
    assert not rehearsed.is_current, "the outcome of another would count for nothing"


@pytest.mark.parametrize("what", ["a member", "a topic"])
def test_an_outcome_is_out_of_date_once_the_group_has_changed(what: str) -> None:
    group = group_of("a")
    rehearsed = Rehearsal(group, 7, adding("b"))
    if what == "a topic":
        group.topics_changed()
    else:
        group.apply(*consumer_records.member("group", ConsumerMember(member_id="c")))
    rehearsed.run()
    assert not rehearsed.is_current


def test_a_refusal_changes_nothing() -> None:
    def decide(changes: Changes[ConsumerGroup]) -> None:
        adding("b")(changes)
        raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH)

    group = group_of("a")
    rehearsed = Rehearsal(group, 7, decide)
    rehearsed.run()
    with pytest.raises(KafkaError):
        rehearsed.taken_over()
    assert list(group.members) == ["a"]


async def test_timers_of_members_that_are_gone_end(autojump_clock: object, world: Any) -> None:
    group = group_of("a", "b")
    protocol = world.coordinator.consumer.protocol
    sessions = {name: protocol.timers_of(group, name).session for name in group.members}
    for name in group.members:
        protocol.put_off(group, name)
    copied = group.copy()
    assert not copied.timers
    copied.apply(*consumer_records.RECORDS.no_member("group", "a")[-1])
    assert sessions["a"].is_set
    group.take_over(copied)
    assert not sessions["a"].is_set
    assert sessions["b"].is_set
    assert list(group.timers) == ["b"]
