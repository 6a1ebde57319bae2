"""Heartbeats of large groups: which they are, and what happens while a thread works them out.

That their changes come out as those of small groups is proven by the tests of both sizes (`size`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.group_coordinator import large_groups
from kafkalite.group_coordinator.large_groups import LARGE, MEMBERS_PER_PARTITION, TRIES
from kafkalite.log.errors import TakesLong
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.wire.rows import message_of_row, row_of, rows_of
from tests.group_coordinator.consumers import NAMES
from tests.group_coordinator.in_memory import Context

CONTEXT: Any = Context(1)


def joins(name: str, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    given = {"group_id": "group", "member_epoch": 0} | NAMES | fields
    return ConsumerGroupHeartbeatRequest(member_id=name, **given)


def is_long(world: Any, request: ConsumerGroupHeartbeatRequest) -> bool:
    try:
        world.coordinator.consumer.heartbeat(CONTEXT, rows_of(request), briefly=True)
    except TakesLong:
        return True
    return False


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subscribed_topic_names": [f"topic-{index}" for index in range(LARGE + 1)]},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "or.*"},
    ],
    ids=["many partitions", "many topics", "an expression"],
)
async def test_large_groups_take_long(
    autojump_clock: object, world: Any, fields: dict[str, Any]
) -> None:
    assert not is_long(world, joins("small"))
    assert is_long(world, joins("large", group_id="large", **fields)) == (len(fields) == 1)
    world.set_partitions("orders", LARGE + 1)
    assert is_long(world, joins("large", group_id="large", **fields))
    assert is_long(world, joins("another")), "its group has become large"
    assert not is_long(world, joins("small", member_epoch=-1)), "it leaves"


async def test_groups_of_very_many_members_take_long(
    autojump_clock: object, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_groups, "LARGE", 2)
    world.set_partitions("orders", 1)
    members = [str(number) for number in range(2 * MEMBERS_PER_PARTITION + 1)]
    assert not any(is_long(world, joins(name)) for name in members)
    assert not callable(world.coordinator.consumer.describe(CONTEXT, "small"))
    assert callable(world.coordinator.consumer.describe(CONTEXT, "group")), "in a thread"
    assert is_long(world, joins("one more"))
    assert not is_long(world, joins("small", member_epoch=-1)), "it leaves"


@pytest.fixture
def large(world: Any) -> Any:
    world.set_partitions("orders", LARGE + 1)
    return world


def ended(steps: Any, *between: Callable[[], None]) -> ConsumerGroupHeartbeatResponse:
    """The answer, where something happens after each of the first steps."""
    happens = iter(between)
    while True:
        try:
            next(steps)()
            next(happens, lambda: None)()
        except StopIteration as done:
            return message_of_row(ConsumerGroupHeartbeatResponse, row_of(done.value))


async def test_another_member_meanwhile_is_not_forgotten(
    autojump_clock: object, large: Any
) -> None:
    def beat(name: str) -> Any:
        return large.coordinator.consumer.heartbeat_in_steps(CONTEXT, rows_of(joins(name)))

    ended(beat("first"))
    answer = ended(beat("a"), lambda: ended(beat("b")) and None)
    assert answer.error_code == ErrorCode.NONE
    group = large.coordinator.shards.find("group", 1).groups["group"]
    assert set(group.members) == {"first", "a", "b"}
    has = {name: member.assigned for name, member in group.members.items()}
    await large.start()
    group = large.coordinator.shards.find("group", 1).groups["group"]
    assert has == {name: member.assigned for name, member in group.members.items()}, "as written"


async def test_a_group_that_never_rests_is_changed_on_the_loop(
    autojump_clock: object, large: Any
) -> None:
    assert not is_long(large, joins("first", subscribed_topic_names=["payments"]))
    group = large.coordinator.shards.find("group", 1).groups["group"]
    steps = large.coordinator.consumer.heartbeat_in_steps(CONTEXT, rows_of(joins("a")))
    between = [group.topics_changed] * TRIES
    assert ended(steps, *between).error_code == ErrorCode.NONE
    assert "a" in group.members


async def test_the_coordinator_may_resign_meanwhile(autojump_clock: object, large: Any) -> None:
    coordinator = large.coordinator
    steps = coordinator.consumer.heartbeat_in_steps(CONTEXT, rows_of(joins("a")))
    answer = ended(steps, lambda: coordinator.resigned(coordinator.partition_for("group")))
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert not large.log.batches


async def test_what_cannot_be_written_is_not_there(autojump_clock: object, large: Any) -> None:
    coordinator = large.coordinator
    append = large.log.append

    def refuse(*_: object) -> None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    large.log.append = refuse
    steps = coordinator.consumer.heartbeat_in_steps(CONTEXT, rows_of(joins("a")))
    assert ended(steps).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    large.log.append = append
    assert "group" not in coordinator.shards.find("group", 1).groups


async def test_tests_of_both_sizes_have_both(autojump_clock: object, world: Any, size: str) -> None:
    assert is_long(world, joins("small")) == (size == "large")
