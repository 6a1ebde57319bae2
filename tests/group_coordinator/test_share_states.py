"""Share states of a group: begun, tried again, ended with their topic and with their group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafkalite.group_coordinator import share_states
from kafkalite.group_coordinator.rehearsal import Rehearsal
from kafkalite.group_coordinator.share_keeper import LocalKeeper
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.in_memory import Context, MemoryLog, ShareStates
from tests.group_coordinator.share_consumers import orders, settle

pytestmark = pytest.mark.usefixtures("size")


async def test_a_topic_that_goes_and_comes_again(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    world.set_partitions("orders", 0)
    await settle(a)
    assert a.partitions == set()
    world.set_partitions("orders", 2)
    await settle(a)
    assert a.partitions == orders(0, 1)


async def test_a_state_that_cannot_be_made_is_tried_again(autojump_clock, world, consumers):
    (a,) = consumers("a")
    world.share_states.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    await settle(a)
    assert a.partitions == set()
    world.share_states.failure = None
    await settle(a)
    assert a.partitions == orders(0, 1, 2, 3)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, world: Any) -> list[Rehearsal[Any, Any]]:
    """The changes that were worked out; the group is another after the first of them."""
    runs: list[Rehearsal[Any, Any]] = []

    class Noted(Rehearsal[Any, Any]):
        def run(self) -> None:
            super().run()
            runs.append(self)
            if len(runs) == 1:
                world.group("queue").topics_changed()

    monkeypatch.setattr(share_states, "AT_ONCE", -1)
    monkeypatch.setattr(share_states, "Rehearsal", Noted)
    return runs


async def test_a_group_changes_while_it_is_worked_out_what_has_begun(
    autojump_clock, world, consumers, runs
):
    (a,) = consumers("a")
    await settle(a)
    assert len(runs) == 2
    assert a.partitions == orders(0, 1, 2, 3)
    await world.start()
    group = world.group("queue")
    assert [len(topic.partitions) for topic in group.initialized.values()] == [4], "as written"
    assert not group.initializing


async def test_a_group_changes_while_it_is_worked_out_what_is_deleted(
    autojump_clock, world, consumers, runs
):
    (a,) = consumers("a")
    await settle(a)
    a.beat(member_epoch=-1)
    runs.clear()
    assert (await delete(world)).error_code == ErrorCode.NONE
    assert len(runs) == 2
    assert not world.share_states.kept


async def test_a_topic_that_is_gone_is_forgotten(autojump_clock, world, consumers):
    world.set_partitions("later", 1)
    (a,) = consumers("a", topics=["orders", "later"])
    await settle(a)
    world.set_partitions("orders", 0)
    known = [topic.name for topic in world.group("queue").initialized.values()]
    await world.start()
    written = [topic.name for topic in world.group("queue").initialized.values()]
    assert known == written == ["later"]


async def test_a_group_that_is_deleted_meanwhile_forgets_no_topic(
    autojump_clock, world, consumers, monkeypatch
):
    """A broker of a cluster notes it in a task; a note after the end would be of a new group."""
    works: list[Any] = []
    world.set_partitions("later", 1)
    (a,) = consumers("a", topics=["orders", "later"])
    await settle(a)
    a.beat(member_epoch=-1)
    monkeypatch.setattr(LocalKeeper, "soon", lambda _keeper, work, _count: works.append(work))
    world.set_partitions("orders", 0)
    assert (await delete(world)).error_code == ErrorCode.NONE
    before = len(world.log.batches)
    (forget,) = works
    await forget()
    assert len(world.log.batches) == before


async def test_a_topic_goes_when_that_cannot_be_noted(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    world.log.failure = ErrorCode.NOT_COORDINATOR
    world.set_partitions("orders", 0)
    world.log.failure = None
    await settle(a)
    assert a.partitions == set()


async def test_a_group_is_deleted_with_its_state(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    result = await delete(world)
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    a.beat(member_epoch=-1)
    result = await delete(world)
    assert result.error_code == ErrorCode.NONE
    assert not world.share_states.kept
    await world.start()
    assert drained(world.coordinator.administration.list_groups(Context(), [], [])) == []


async def delete(world: Any) -> Any:
    return await world.coordinator.administration.delete_share_group(Context(), "queue")


@dataclass
class OutcomeIsLost(ShareStates):
    """The group's log fails once, right after the share coordinator has been asked."""

    log: MemoryLog = field(default_factory=MemoryLog)
    fails: bool = True

    def initialize_state(self, *asked: Any) -> None:
        super().initialize_state(*asked)
        if self.fails:
            self.log.failure = ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("is_new", [True, False])
async def test_partitions_that_are_under_way_are_begun_again_after_a_while(
    autojump_clock, world, consumers, is_new
):
    world.share_states = states = OutcomeIsLost(log=world.log)
    await world.start(group_share_initialize_retry_interval_ms=60_000)
    (a,) = consumers("a", topics=["orders" if is_new else "later"])
    assert a.beat() == ErrorCode.NONE
    if not is_new:
        assert a.beat(subscribed_topic_names=["orders"]) == ErrorCode.NONE
    states.fails, world.log.failure = False, None
    (noted,) = world.group("queue").initializing.values()
    assert (noted.name, noted.partitions) == ("orders", frozenset(range(4)))
    states.kept.clear()
    await settle(a)
    assert not states.kept, "it is not asked again yet"
    await settle(a, rounds=60)
    assert a.partitions == orders(0, 1, 2, 3)
    assert not world.group("queue").initializing


async def test_a_deletion_that_fails_is_noted_and_goes_on_later(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    a.beat(member_epoch=-1)
    world.share_states.failure = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    result = await delete(world)
    assert result.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await world.start()
    group = world.group("queue")
    assert (group.initialized, list(group.deleting.values())) == ({}, ["orders"])
    world.share_states.failure = None
    result = await delete(world)
    assert result.error_code == ErrorCode.NONE
    assert not world.share_states.kept
