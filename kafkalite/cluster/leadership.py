"""The leader after a node came or went: Kafka's rules as plain functions from state to records.

- A leader is the first replica, in the order of the assignment, that is in sync and alive. If none
  is, these follow in turn: one that is alive and eligible, the one known to have led last, and,
  where unclean elections are allowed, any that is alive.
- A node that goes leaves the in-sync replicas. Where fewer than min.insync.replicas are left, those
  who were in sync are remembered as eligible leaders (KIP-966): they hold all that was
  acknowledged.
- A node whose data directory fails goes for the partitions in that directory (KIP-858).
- A node that comes back is in sync at once, if there is a leader to follow: all nodes share one set
  of logs. Kafka's steps in between (fenced no more, not yet caught up) are skipped.

Source: Kafka's PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, NO_LEADER_CHANGE, PartitionState
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

_RECOVERING: Final = 1  # PartitionChangeRecord.leader_recovery_state


def elect(state: PartitionState, in_sync: Collection[int], alive: Collection[int]) -> int:
    """The leader that `in_sync` gives, or NO_LEADER."""
    for node in state.replicas:
        if node in in_sync and node in alive:
            return node
    return NO_LEADER


class Rules(NamedTuple):
    """The configs of a topic that decide about its leaders."""

    min_in_sync: int
    unclean: bool


def after_loss(
    topic_id: UUID,
    index: int,
    state: PartitionState,
    lost: Collection[int],
    alive: Collection[int],
    rules: Rules,
) -> PartitionChangeRecord | None:
    """The change when the replicas on `lost`, no longer among `alive`, are gone. None if there is
    none."""
    if state.leader_id not in lost and not any(node in lost for node in state.in_sync_replicas):
        return None
    in_sync = [node for node in state.in_sync_replicas if node not in lost]
    leader = state.leader_id
    if leader in lost:
        leader = _elect_any(state, in_sync, alive, rules)
    return _change(topic_id, index, state, leader, in_sync, rules)


def with_leader(
    topic_id: UUID, index: int, state: PartitionState, alive: Collection[int], rules: Rules
) -> PartitionChangeRecord | None:
    """The change by a leader, if there is one or can be: all living replicas join it."""
    leader = state.leader_id
    if leader == NO_LEADER:
        leader = _elect_any(state, state.in_sync_replicas, alive, rules)
    if leader == NO_LEADER:
        return None
    joining = [node for node in state.replicas if node in alive]
    in_sync = state.in_sync_replicas
    if not set(joining) <= set(in_sync):
        in_sync = sorted({*in_sync, *joining})  # a leader tells Kafka's controller a set
    return _change(topic_id, index, state, leader, in_sync, rules)


def _elect_any(
    state: PartitionState, in_sync: Collection[int], alive: Collection[int], rules: Rules
) -> int:
    leader = elect(state, in_sync, alive)
    if leader == NO_LEADER and not in_sync:
        leader = elect(state, state.eligible_leader_replicas, alive)
        if leader == NO_LEADER and not state.eligible_leader_replicas:
            leader = elect(state, state.last_known_eligible, alive)
    if leader == NO_LEADER and rules.unclean:
        leader = elect(state, state.replicas, alive)
    return leader


def after_restart(
    topic_id: UUID, index: int, state: PartitionState
) -> PartitionChangeRecord | None:
    """A new leader epoch for a leader that was away with its whole process.

    What clients see of it is an epoch that they did not know, and that they must look at (KIP-320).
    A leader that is alone in sync resigns, as in Kafka: that is an epoch, too, and it gets the next
    one when it is back.
    """
    leader = state.leader_id
    if leader == NO_LEADER:
        return None
    next_leader = NO_LEADER if state.in_sync_replicas == [leader] else leader
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=next_leader)


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
    rules: Rules,
) -> PartitionChangeRecord | None:
    was_in_sync = leader == NO_LEADER or leader in (
        *state.in_sync_replicas,
        *state.eligible_leader_replicas,
        *state.last_known_eligible,
    )
    if leader != NO_LEADER and leader not in in_sync:
        in_sync = [leader]
    eligible = _eligible(state, in_sync, rules)
    last_known = state.last_known_eligible
    if in_sync:
        last_known = []
    elif state.leader_id != NO_LEADER:
        last_known = [state.leader_id]
    record = PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        leader=leader if leader != state.leader_id else NO_LEADER_CHANGE,
        isr=in_sync if in_sync != state.in_sync_replicas else None,
        eligible_leader_replicas=(eligible if eligible != state.eligible_leader_replicas else None),
        last_known_elr=last_known if last_known != state.last_known_eligible else None,
    )
    if not was_in_sync:
        record.leader_recovery_state = _RECOVERING
    unchanged = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    return None if record == unchanged else record


def _eligible(state: PartitionState, in_sync: Collection[int], rules: Rules) -> list[int]:
    if len(in_sync) >= min(rules.min_in_sync, len(state.replicas)):
        return []
    candidates = {*state.eligible_leader_replicas, *state.in_sync_replicas}
    return sorted(candidates - set(in_sync))
