"""Who leads after a node came or went: Kafka's rules as plain functions from state to records.

- A leader is the first replica, in the order of the assignment, that is in sync and alive.
- A node that goes leaves the in-sync replicas. The last one to go leaves them empty and becomes an
  eligible leader replica instead (KIP-966): it holds everything that was acknowledged.
- A node that comes back is in sync at once: all nodes share one set of logs.

Source: Kafka's PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from kafkalite.metadata.image import NO_LEADER, NO_LEADER_CHANGE, PartitionState
from kafkalite.wire.messages.records.partition_change_record import PartitionChangeRecord

_RECOVERING: Final = 1  # PartitionChangeRecord.leader_recovery_state


def elect(state: PartitionState, in_sync: Collection[int], alive: Collection[int]) -> int:
    """The leader that `in_sync` gives, or NO_LEADER."""
    for node in state.replicas:
        if node in in_sync and node in alive:
            return node
    return NO_LEADER


def after_fencing(
    topic_id: UUID, index: int, state: PartitionState, node_id: int, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """What changes when `node_id`, no longer among `alive`, is gone; None if nothing does."""
    if node_id not in state.in_sync_replicas and state.leader_id != node_id:
        return None
    in_sync = [node for node in state.in_sync_replicas if node != node_id]
    eligible = list(state.eligible_leader_replicas)
    if not in_sync and node_id in state.in_sync_replicas:
        eligible = [*eligible, node_id]
    leader = state.leader_id
    if leader == node_id:
        leader = elect(state, in_sync, alive)
    return _change(topic_id, index, state, leader, in_sync, eligible)


def after_unfencing(
    topic_id: UUID, index: int, state: PartitionState, node_id: int, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """What changes when `node_id`, now among `alive`, is back; None if nothing does."""
    if node_id not in state.replicas:
        return None
    in_sync = list(state.in_sync_replicas)
    if node_id not in in_sync:
        in_sync.append(node_id)
    eligible = [node for node in state.eligible_leader_replicas if node not in in_sync]
    leader = state.leader_id
    if leader == NO_LEADER:
        leader = elect(state, in_sync, alive)
    return _change(topic_id, index, state, leader, in_sync, eligible)


def after_restart(
    topic_id: UUID, index: int, state: PartitionState
) -> PartitionChangeRecord | None:
    """A new leader epoch for a leader that was away with its whole process.

    In Kafka such a leader resigns and is elected again; what clients see of it is an epoch that
    they did not know, and that they must look at (KIP-320).
    """
    if state.leader_id == NO_LEADER:
        return None
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=state.leader_id)


def elect_preferred(
    topic_id: UUID, index: int, state: PartitionState, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """The first replica of the assignment leads again; None if it cannot."""
    preferred = state.replicas[0]
    if preferred not in alive or preferred not in state.in_sync_replicas:
        return None
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=preferred)


def elect_unclean(
    topic_id: UUID, index: int, state: PartitionState, alive: Collection[int]
) -> PartitionChangeRecord | None:
    """Any living replica leads a partition that has no leader; None if there is none.

    In Kafka this may lose records. Here all replicas share one log, and nothing is lost; the record
    says "recovering" all the same, for that is what it would be.
    """
    leader = elect(state, state.replicas, alive)
    if leader == NO_LEADER:
        return None
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        leader=leader,
        isr=[leader],
        eligible_leader_replicas=[] if state.eligible_leader_replicas else None,
        leader_recovery_state=_RECOVERING,
    )


def _change(
    topic_id: UUID,
    index: int,
    state: PartitionState,
    leader: int,
    in_sync: list[int],
    eligible: list[int],
) -> PartitionChangeRecord | None:
    # Once anyone is in sync, who was last known to be eligible matters no longer.
    forget = bool(in_sync) and bool(state.last_known_eligible)
    record = PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        leader=leader if leader != state.leader_id else NO_LEADER_CHANGE,
        isr=in_sync if in_sync != state.in_sync_replicas else None,
        eligible_leader_replicas=(eligible if eligible != state.eligible_leader_replicas else None),
        last_known_elr=[] if forget else None,
    )
    unchanged = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    return None if record == unchanged else record
