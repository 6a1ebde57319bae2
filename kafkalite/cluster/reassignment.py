"""Moving partitions to other nodes, as plain functions from state to records (KIP-455).

1. `begin`: the new replicas join the assignment as "adding", those to go become "removing".
2. `catch_up`: replicas that live join the in-sync replicas. All nodes share one set of logs, so
  that this takes no time; a replica whose node is down joins when it comes back, and until then the
  reassignment goes on, is listed, and can be cancelled.
3. `catch_up` also ends it: once all that were added are in sync, the removing ones leave the
   assignment, and another leads if the leader was one of them.

Source: Kafka's PartitionReassignmentReplicas, PartitionReassignmentRevert.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, NO_LEADER_CHANGE, PartitionState
from kafkalite.cluster.leadership import elect
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord


def is_moving(state: PartitionState) -> bool:
    """True if a reassignment goes on."""
    return bool(state.adding_replicas or state.removing_replicas)


def begin(
    topic_id: UUID, index: int, state: PartitionState, target: Sequence[int]
) -> PartitionChangeRecord:
    """Set out for `target`; a reassignment that goes on is given another aim."""
    present = [node for node in state.replicas if node not in state.adding_replicas]
    adding = [node for node in target if node not in present]
    removing = [node for node in state.replicas if node not in target]
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=[*target, *removing],
        directories=_directories(state, len(target) + len(removing)),
        adding_replicas=adding,
        removing_replicas=removing,
    )


def _directories(state: PartitionState, count: int) -> list[UUID] | None:
    """All replicas are in the one directory that their log is in; None where none is named."""
    return state.directories[:1] * count or None


def cancel(
    topic_id: UUID, index: int, state: PartitionState, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """Back to where it came from; None if no replica of before is in sync."""
    replicas = [node for node in state.replicas if node not in state.adding_replicas]
    in_sync = [node for node in state.in_sync_replicas if node in replicas]
    if not in_sync:
        return None
    back = PartitionState(replicas, in_sync, state.leader_id, 0, 0)
    leader = state.leader_id if state.leader_id in replicas else elect(back, in_sync, alive)
    isr = in_sync if in_sync != state.in_sync_replicas else None
    return _ended(topic_id, index, state, replicas, isr, leader)


def catch_up(
    topic_id: UUID, index: int, state: PartitionState, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """The change by living replicas in a reassignment: they join, or it ends. None if there is
    none."""
    if not is_moving(state):
        return None
    joining = [
        node
        for node in state.replicas
        if node in alive
        and node not in state.in_sync_replicas
        and node not in state.removing_replicas
    ]
    in_sync = state.in_sync_replicas
    if joining:
        # A leader proposes its in-sync replicas as a hash set: in ascending order.
        in_sync = sorted([*in_sync, *joining])
    staying = [node for node in in_sync if node not in state.removing_replicas]
    replicas = [node for node in state.replicas if node not in state.removing_replicas]
    # With fewer replicas than before, all of them have to be in sync: else the change would leave
    # fewer replicas in sync than there are (PartitionReassignmentReplicas).
    shrinks = len(state.adding_replicas) < len(state.removing_replicas)
    needed = replicas if shrinks else state.adding_replicas
    if not staying or not set(needed) <= set(staying):
        if not joining:
            return None
        return PartitionChangeRecord(partition_id=index, topic_id=topic_id, isr=in_sync)
    leader = state.leader_id
    if leader == NO_LEADER or leader not in replicas:
        leader = elect(PartitionState(replicas, staying, leader, 0, 0), staying, alive)
    return _ended(topic_id, index, state, replicas, staying, leader)


def _ended(
    topic_id: UUID,
    index: int,
    state: PartitionState,
    replicas: list[int],
    isr: list[int] | None,
    leader: int,
) -> PartitionChangeRecord:
    """The record that ends a reassignment. When a replica goes, a new leader epoch begins, also
    of the same leader."""
    is_changed = leader != state.leader_id or not set(state.replicas) <= set(replicas)
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        directories=_directories(state, len(replicas)),
        isr=isr,
        adding_replicas=[],
        removing_replicas=[],
        leader=leader if is_changed else NO_LEADER_CHANGE,
    )
