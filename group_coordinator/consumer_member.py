"""A member of a group of the consumer protocol (KIP-848), and how it gets from one assignment to another.

The coordinator decides who gets what (the target); a member follows at its own pace. It must give up
what it is to lose before anybody else gets it, and it learns of what it is to get when that is free:

    STABLE                 has all it is to have, in the epoch of the target
    UNREVOKED_PARTITIONS   has been asked to give partitions up, and has not confirmed
    UNRELEASED_PARTITIONS  waits for partitions that others have not given up yet

Its epoch moves on to the target's when it has nothing left to give up. Everything here is pure.
Source: KIP-848 (and KIP-1251 for the assignment epochs), Kafka's CurrentAssignmentBuilder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Protocol
from uuid import UUID

from kafkalite.group_coordinator.assignors import Target
from kafkalite.wire.messages.stored.consumer_group_member_metadata import ClassicMemberMetadata

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""What a static member says, and has, when it leaves and means to come back."""

Assigned = Mapping[UUID, Mapping[int, int]]
"""By topic and partition, the member epoch in which the partition was given."""

Owned = Mapping[UUID, frozenset[int]]
"""What a member says it has."""


class ConsumerMemberState(IntEnum):
    """Kafka's numbers, as they are in the log."""

    STABLE = 1
    UNREVOKED_PARTITIONS = 2
    UNRELEASED_PARTITIONS = 3
    UNKNOWN = 127


class ConsumerMemberEvent(Enum):
    """How a member stands to its target; the values label the diagram's arrows."""

    MUST_REVOKE = "has partitions to give up"
    MUST_WAIT = "others have what it is to get"
    SETTLED = "has all it is to have"


State, Event = ConsumerMemberState, ConsumerMemberEvent

_FROM_ANYWHERE = {
    Event.MUST_REVOKE: State.UNREVOKED_PARTITIONS,
    Event.MUST_WAIT: State.UNRELEASED_PARTITIONS,
    Event.SETTLED: State.STABLE,
}

TRANSITIONS: dict[ConsumerMemberState, dict[ConsumerMemberEvent, ConsumerMemberState]] = (
    dict.fromkeys(State, _FROM_ANYWHERE)
)
"""A new target may come at any time, so that every state can follow every other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A value: what changes a member makes another. `classic` is there while it speaks the classic
    protocol in a group of the new one."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    state: ConsumerMemberState = State.STABLE
    assigned: Assigned = field(default_factory=dict[UUID, Mapping[int, int]])
    pending_revocation: Assigned = field(default_factory=dict[UUID, Mapping[int, int]])

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is State.STABLE and self.member_epoch == assignment_epoch

    def has(self, topic_id: UUID, partition: int) -> bool:
        return partition in self.assigned.get(topic_id, {})

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """In which epoch it was given the partition, which it may still be about to give up."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        if epoch is None:
            epoch = self.pending_revocation.get(topic_id, {}).get(partition)
        return epoch


class ListedPartitions(Protocol):
    """Partitions of a topic in a message."""

    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[int]: ...


def owned_from(listed: Sequence[ListedPartitions] | None) -> Owned | None:
    """What a request says; None if it says nothing."""
    if listed is None:
        return None
    return {topic.topic_id: frozenset(topic.partitions) for topic in listed}


def is_subset(owned: Owned | None, assigned: Assigned) -> bool:
    """True if a member says that it has only what it was given; saying nothing is not that."""
    return owned is not None and all(
        partition in assigned.get(topic_id, {})
        for topic_id, partitions in owned.items()
        for partition in partitions
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a member's next step depends on, beside the member.

    `is_free(topic_id, partition)` says whether nobody has the partition.
    """

    target: Target
    target_epoch: int
    subscribed: frozenset[UUID]
    owned: Owned | None
    is_free: Callable[[UUID, int], bool]
    subscription_changed: bool = False


def reconcile(member: ConsumerMember, around: Surroundings) -> ConsumerMember:
    """The member one step nearer to its target; itself if it cannot go on now."""
    match member.state:
        case State.STABLE:
            if member.member_epoch != around.target_epoch:
                return _next(member, member.member_epoch, around)
            return _unsubscribed(member, around)
        case State.UNREVOKED_PARTITIONS:
            if _still_owns(around.owned, member.pending_revocation):
                return _unsubscribed(member, around)
            return _next(member, member.member_epoch, around)
        case State.UNRELEASED_PARTITIONS:
            return _next(member, member.member_epoch, around)
        case State.UNKNOWN:
            # Written by a newer coordinator: start over from what it has.
            return _next(member, around.target_epoch, around)


def _next(member: ConsumerMember, epoch: int, around: Surroundings) -> ConsumerMember:
    kept: dict[UUID, dict[int, int]] = {}
    lost: dict[UUID, dict[int, int]] = {}
    gained: dict[UUID, dict[int, int]] = {}
    waits = False
    for topic_id in member.assigned.keys() | around.target.keys():
        wanted: frozenset[int] = frozenset()
        if topic_id in around.subscribed:
            wanted = around.target.get(topic_id, wanted)
        before = member.assigned.get(topic_id, {})
        for partition, since in before.items():
            side = kept if partition in wanted else lost
            side.setdefault(topic_id, {})[partition] = since
        releasing = member.pending_revocation.get(topic_id, {})
        for partition in wanted - before.keys():
            if around.is_free(topic_id, partition) or partition in releasing:
                gained.setdefault(topic_id, {})[partition] = around.target_epoch
            else:
                waits = True
    if lost and _still_owns(around.owned, lost):
        return replace(
            member,
            state=TRANSITIONS[member.state][Event.MUST_REVOKE],
            previous_member_epoch=member.member_epoch,
            member_epoch=epoch,
            assigned=kept,
            pending_revocation=lost,
        )
    return replace(
        member,
        state=TRANSITIONS[member.state][Event.MUST_WAIT if waits else Event.SETTLED],
        previous_member_epoch=member.member_epoch,
        member_epoch=around.target_epoch,
        assigned=merged(kept, gained),
        pending_revocation={},
    )


def _unsubscribed(member: ConsumerMember, around: Surroundings) -> ConsumerMember:
    """No new target yet, but the member has changed what it wants: topics it does not subscribe to
    any more are taken from it at once."""
    if not around.subscription_changed:
        return member
    lost = {t: p for t, p in member.assigned.items() if t not in around.subscribed}
    if not lost:
        return member
    kept = {t: p for t, p in member.assigned.items() if t in around.subscribed}
    pending = merged(member.pending_revocation, lost)
    if _still_owns(around.owned, pending):
        return replace(
            member,
            state=TRANSITIONS[member.state][Event.MUST_REVOKE],
            previous_member_epoch=member.member_epoch,
            assigned=kept,
            pending_revocation=pending,
        )
    return replace(member, previous_member_epoch=member.member_epoch, assigned=kept)


def _still_owns(owned: Owned | None, assigned: Assigned) -> bool:
    """True if a member has any of these; one that does not say must be taken to have them."""
    if owned is None:
        return True
    return any(
        partition in assigned.get(topic_id, {})
        for topic_id, partitions in owned.items()
        for partition in partitions
    )


def merged(first: Assigned, second: Assigned) -> Assigned:
    """All of both."""
    return {
        topic_id: {**first.get(topic_id, {}), **second.get(topic_id, {})}
        for topic_id in first.keys() | second.keys()
    }
