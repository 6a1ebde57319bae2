"""The records that begin, cancel and complete a reassignment."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafkalite.cluster.image import PartitionState
from kafkalite.cluster.reassignment import begin, cancel, catch_up
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

ID = UUID(int=1)


def moved(**fields: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=ID, **fields)


def test_the_steps_of_a_move() -> None:
    state = PartitionState([1, 2], [1, 2], 1, 0, 0)
    assert begin(ID, 0, state, [3, 2]) == moved(
        replicas=[3, 2, 1], adding_replicas=[3], removing_replicas=[1]
    )
    going = PartitionState([3, 2, 1], [1, 2], 1, 0, 0, adding_replicas=[3], removing_replicas=[1])
    assert catch_up(ID, 0, going, {1, 2}) is None
    assert catch_up(ID, 0, going, {1, 2, 3}) == moved(
        replicas=[3, 2], isr=[2, 3], adding_replicas=[], removing_replicas=[], leader=3
    )
    # Another aim on the way: what was only being added goes without ever having been there.
    assert begin(ID, 0, going, [1]) == moved(
        replicas=[1, 3, 2], adding_replicas=[], removing_replicas=[3, 2]
    )
    assert cancel(ID, 0, going, {1, 2}) == moved(
        replicas=[2, 1], adding_replicas=[], removing_replicas=[], leader=1
    )
    assert cancel(ID, 0, PartitionState([3], [3], 3, 0, 0, adding_replicas=[3]), {3}) is None
    assert catch_up(ID, 0, state, {1, 2}) is None


def test_a_leader_that_stays_begins_an_epoch_when_a_replica_goes() -> None:
    going = PartitionState([1, 2, 3], [1, 2, 3], 2, 0, 0, removing_replicas=[3])
    assert catch_up(ID, 0, going, {1, 2, 3}) == moved(
        replicas=[1, 2], isr=[1, 2], adding_replicas=[], removing_replicas=[], leader=2
    )
    more = PartitionState([1, 2, 3], [1, 2, 3], 2, 0, 0, adding_replicas=[3])
    assert catch_up(ID, 0, more, {1, 2, 3}) == moved(
        replicas=[1, 2, 3], isr=[1, 2, 3], adding_replicas=[], removing_replicas=[]
    )


def test_fewer_replicas_wait_for_all_of_them() -> None:
    """A reassignment from 1, 2, 3 to 2, 3 while 2 is gone would leave one in-sync replica."""
    going = PartitionState([2, 3, 1], [1, 3], 1, 0, 0, removing_replicas=[1])
    assert catch_up(ID, 0, going, {1, 3}) is None
    assert catch_up(ID, 0, going, {1, 2, 3}) == moved(
        replicas=[2, 3], isr=[2, 3], adding_replicas=[], removing_replicas=[], leader=2
    )


def test_in_sync_replicas_are_in_ascending_order_once_one_joins() -> None:
    going = PartitionState([1, 3, 2], [3, 2], 3, 0, 0, adding_replicas=[1])
    assert catch_up(ID, 0, going, {1, 2, 3}) == moved(
        replicas=[1, 3, 2], isr=[1, 2, 3], adding_replicas=[], removing_replicas=[]
    )
