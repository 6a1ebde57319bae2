"""Share partitions are opened with what is stored of them, and let go when they are not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from uuid import UUID

import pytest
import trio

from kafkalite.clock import SystemClock
from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.group_coordinator.timers import AT_ONCE, Timer
from kafkalite.replica.share.acknowledgement import Acknowledgement, acknowledge
from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.share_partition import SharePartition
from kafkalite.replica.share.share_partitions import SharePartitions
from kafkalite.replica.share.share_sessions import (
    SessionKey,
    SessionPartition,
    TopicPartitionId,
)
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.one_share_group import (
    GROUP,
    MEMBER,
    NODE,
    OneShareGroup,
    one_share_group,
    read,
)

ACCEPT, RELEASE = 1, 2


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group() as made:
        made.append(b"a", b"b", b"c")
        yield made


def opened(group: OneShareGroup, index: int = 0) -> SharePartition:
    return group.partitions.open(group.key(index), group.partition(index))


def fetch(group: OneShareGroup, key: SessionKey = MEMBER, most: int = 500) -> list[int]:
    """The offsets that a member acquires of the first partition."""
    wanted = Wanted(key.member_id, most, 500)
    reader = group.reader([group.where()], wanted, group_id=key.group_id)
    fetched = read(reader).get(group.where())
    return [
        offset
        for each in (() if fetched is None else fetched.acquired)
        for offset in range(each.first_offset, each.last_offset + 1)
    ]


def begin(group: OneShareGroup, key: SessionKey = MEMBER, connection: object = "one") -> None:
    partitions = {group.where(): SessionPartition("t", must_answer=False)}
    group.partitions.sessions_of(NODE).begin(key, connection, partitions)


def raised(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        work()
    return refused.value.code


async def test_locks_that_run_out_together_are_released_a_few_at_a_time(
    group: OneShareGroup,
) -> None:
    released: list[int] = []
    partitions = group.partitions
    for number in range(3 * AT_ONCE):
        partitions._timers.set(Timer(partial(released.append, number)), 0)
    seen = [0]

    class Looking(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            seen.append(len(released))

    trio.lowlevel.add_instrument(looking := Looking())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partitions.run)
        with trio.fail_after(10):
            while seen[-1] < 3 * AT_ONCE:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    trio.lowlevel.remove_instrument(looking)
    assert max(after - before for before, after in pairwise(seen)) <= AT_ONCE


def test_it_is_open_once(group: OneShareGroup) -> None:
    assert group.partitions.get(group.key()) is None
    share = opened(group)
    assert group.partitions.get(group.key()) is share
    assert opened(group) is share
    assert opened(group, 1) is not share


def test_it_goes_on_where_it_was_stored(group: OneShareGroup) -> None:
    fetch(group)
    acknowledge(opened(group), "member", [Acknowledgement(0, 1, [ACCEPT])])
    group.partitions.drop(group.key())
    assert opened(group).start_offset == 2
    assert fetch(group) == [2]


@pytest.mark.parametrize(
    ("reset", "start_offset"), [("latest", 3), ("earliest", 0), ("by_duration:P9999D", 0)]
)
def test_without_a_stored_offset_it_begins_where_the_group_says(
    group: OneShareGroup, reset: str, start_offset: int
) -> None:
    group.services.cluster.image.configs[32, GROUP] = {"share.auto.offset.reset": reset}
    group.initialize(0, start_offset=-1, state_epoch=2)
    assert opened(group).start_offset == start_offset


@pytest.mark.parametrize("index", [-1, 2])
def test_a_partition_that_is_not_there(group: OneShareGroup, index: int) -> None:
    where = group.where(index)
    assert not group.partitions.is_known(where)
    code = raised(lambda: group.partitions.find_partition(where, NODE))
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_is_not_there(group: OneShareGroup) -> None:
    nowhere = UUID(int=9)
    assert not group.partitions.is_topic(nowhere)
    assert group.partitions.topic_name(nowhere) is None
    assert group.partitions.leader_of(TopicPartitionId(nowhere, 0)) == -1
    assert group.partitions.is_topic(group.topic_id)
    assert group.partitions.topic_name(group.topic_id) == "t"
    assert group.partitions.leader_of(group.where()) == NODE


def test_another_node_does_not_lead_it(group: OneShareGroup) -> None:
    code = raised(lambda: group.partitions.find_partition(group.where(), NODE + 1))
    assert code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert group.partitions.find_partition(group.where(), NODE) is group.partition()


def test_under_a_new_leader_epoch_it_is_opened_anew(group: OneShareGroup) -> None:
    share = opened(group)
    group.partition().leader_epoch += 1
    assert group.partitions.get(group.key()) is None
    assert share.is_fenced
    assert opened(group) is not share


def test_a_leader_that_is_replaced_lets_go_when_it_hears_of_it(group: OneShareGroup) -> None:
    share, other = opened(group), opened(group, 1)
    group.partition().leader_epoch += 1
    at_once(group.partitions.leaders_changed())
    assert share.is_fenced
    assert not other.is_fenced


def test_without_a_state_it_cannot_be_opened() -> None:
    with one_share_group(initialized=False) as group:
        assert raised(lambda: opened(group)) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_errors_of_the_coordinator_are_answered_in_the_leader_s_words(
    group: OneShareGroup,
) -> None:
    class Refusing:
        def read_state(self, *_: object) -> ShareState:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)

        def write_state(self, *_: object) -> None:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)

    partitions = SharePartitions(
        group.services.topics,
        Refusing(),
        group.share.settings,
        most_sessions=lambda: 1,
        clock=SystemClock(seconds=lambda: 0.0),
    )
    answered = raised(lambda: partitions.open(group.key(), group.partition()))
    assert answered is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_was_replaced_lets_go(group: OneShareGroup) -> None:
    """Another one has read the state since: what this one has in flight is not its own."""
    fetch(group)
    share = opened(group)
    group.share.read_state(group.key(), group.partition().leader_epoch + 1)
    with pytest.raises(KafkaError) as refused:
        acknowledge(share, "member", [Acknowledgement(0, 0, [ACCEPT])])
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    group.partitions.drop_if_fenced(group.key(), refused.value)
    assert share.is_fenced
    assert group.partitions.get(group.key()) is None


def test_other_errors_do_not_drop_it(group: OneShareGroup) -> None:
    share = opened(group)
    group.partitions.drop_if_fenced(group.key(), KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert group.partitions.get(group.key()) is share


def test_topics_that_are_gone_are_dropped(group: OneShareGroup) -> None:
    share = opened(group)
    at_once(group.partitions.topics_deleted({UUID(int=9)}))
    assert not share.is_fenced
    at_once(group.partitions.topics_deleted({group.topic_id}))
    assert share.is_fenced


def test_nothing_of_a_topic_that_is_gone_is_kept(group: OneShareGroup) -> None:
    opened(group)
    group.partitions.watchers_of(group.key())
    at_once(group.partitions.topics_deleted({group.topic_id}))
    assert not group.partitions._watchers
    assert not group.partitions.opened()


def test_very_many_are_dropped_in_steps(group: OneShareGroup) -> None:
    for index in range(600):
        group.partitions.watchers_of(replace(group.key(), partition=index))
    assert sum(1 for _ in group.partitions.topics_deleted({group.topic_id})) == 3


def test_who_waits_is_woken_when_it_is_dropped(group: OneShareGroup) -> None:
    class Waiting:
        woken = 0

        def try_complete(self) -> None:
            self.woken += 1

    waiting = Waiting()
    opened(group)
    group.partitions.watchers_of(group.key()).add(waiting)
    group.partitions.drop(group.key())
    assert waiting.woken == 1


def test_sessions_are_counted_by_node(group: OneShareGroup) -> None:
    begin(group)
    assert len(group.partitions.sessions_of(NODE)) == 1
    assert len(group.partitions.sessions_of(NODE + 1)) == 0


def test_locks_run_out_by_the_clock(group: OneShareGroup) -> None:
    fetch(group)
    share = opened(group)
    opened_key = group.key()
    group.now = 31.0
    for held in list(group.partitions._open.values()):
        group.partitions.locks_ran_out(held)
    assert group.partitions.get(opened_key) is share
    assert fetch(group, SessionKey(GROUP, "other")) == [0, 1, 2]


def test_partitions_are_left_out_of_which_no_lock_runs_out(group: OneShareGroup) -> None:
    fetch(group)
    (lock,) = group.partitions.locks()
    assert group.partitions.locks(until=lock.at - 1) == []
    assert group.partitions.locks(until=lock.at) == [lock]
