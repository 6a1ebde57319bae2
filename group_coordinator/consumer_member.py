"""A member of a consumer group (KIP-848), and how it gets from one assignment to another.

Everything here is pure. The states are those of modern_member.py.
Source: KIP-848 (and KIP-1251 for the assignment epochs), Kafka's CurrentAssignmentBuilder.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.modern_member import TRANSITIONS, ModernMember
from kafkalite.group_coordinator.modern_member import MemberEvent as Event
from kafkalite.group_coordinator.modern_member import MemberState as State
from kafkalite.wire.messages.stored.consumer_group_member_metadata import ClassicMemberMetadata

Assigned = Mapping[UUID, Mapping[int, int]]
"""By topic and partition, the member epoch in which the partition was given."""

Owned = Mapping[UUID, frozenset[int]]
"""The partitions a member says it has."""


class ConsumerMember(ModernMember, frozen=True, kw_only=True):
    """`classic` is there while it speaks the classic protocol in a group of the new one."""

    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    assigned: Assigned = field(default_factory=dict[UUID, Mapping[int, int]])
    pending_revocation: Assigned = field(default_factory=dict[UUID, Mapping[int, int]])

    @property
    def speaks_classic(self) -> bool:
        return self.classic is not None

    @property
    def partition_count(self) -> int:
        """The number of partitions that it has, or has still to give up."""
        return sum(map(len, self.assigned.values())) + sum(
            map(len, self.pending_revocation.values())
        )

    def has(self, topic_id: UUID, partition: int) -> bool:
        return partition in self.assigned.get(topic_id, {})

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch in which it was given a partition that it has, or has still to give up."""
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
    """The partitions in a request. None if it names none."""
    if listed is None:
        return None
    return {topic.topic_id: frozenset(topic.partitions) for topic in listed}


def is_subset(owned: Owned | None, assigned: Assigned) -> bool:
    """True if a member names only partitions that it was given. False if it names nothing
    (None)."""
    return owned is not None and all(
        partition in assigned.get(topic_id, {}) for topic_id, partition in partitions_in(owned)
    )


def partitions_in(*assigned: Assigned | Owned) -> Iterator[tuple[UUID, int]]:
    """Each partition in all of these, as topic and index."""
    return (
        (topic_id, partition)
        for topics in assigned
        for topic_id, partitions in topics.items()
        for partition in partitions
    )


_NOTHING: frozenset[int] = frozenset()


class Surroundings(Struct, frozen=True):
    """Everything a member's next step depends on, beside the member.

    `is_free(topic_id, partition)` says whether the partition has no owner.
    """

    target: Target
    target_epoch: int
    subscribed: frozenset[UUID]
    owned: Owned | None
    is_free: Callable[[UUID, int], bool]
    subscription_changed: bool = False

    def wanted_of(self, topic_id: UUID) -> frozenset[int]:
        """The target of one topic; nothing if the member does not subscribe to it."""
        wanted = self.target.get(topic_id)
        return wanted if wanted is not None and topic_id in self.subscribed else _NOTHING


def reconcile(member: ConsumerMember, around: Surroundings) -> ConsumerMember:
    """The member one step nearer to its target, or unchanged if it has to wait."""
    match member.state:
        case State.STABLE:
            if member.member_epoch != around.target_epoch:
                return _next(member, member.member_epoch, around)
            return _unsubscribed(member, around)
        case State.UNREVOKED:
            if _still_owns(around.owned, member.pending_revocation):
                return _unsubscribed(member, around)
            return _next(member, member.member_epoch, around)
        case State.UNRELEASED:
            return _next(member, member.member_epoch, around)
        case State.UNKNOWN:
            # Written by a newer coordinator: start over from what it has.
            return _next(member, around.target_epoch, around)


def _next(member: ConsumerMember, epoch: int, around: Surroundings) -> ConsumerMember:
    kept: dict[UUID, dict[int, int]] = {}
    lost: dict[UUID, dict[int, int]] = {}
    gained: dict[UUID, dict[int, int]] = {}
    waits = False
    for topic_id, before in member.assigned.items():
        wanted = around.wanted_of(topic_id)
        for partition, since in before.items():
            side = kept if partition in wanted else lost
            side.setdefault(topic_id, {})[partition] = since
    for topic_id in around.target:
        new = around.wanted_of(topic_id) - member.assigned.get(topic_id, {}).keys()
        if not new:
            continue
        releasing = member.pending_revocation.get(topic_id, {})
        free = [p for p in new if p in releasing or around.is_free(topic_id, p)]
        if free:
            gained[topic_id] = dict.fromkeys(free, around.target_epoch)
        waits |= len(free) < len(new)
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
    """Take topics from the member at once that it no longer subscribes to, before there is a new
    target."""
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
    """True if a member has any of these. One that names no partitions may have all."""
    return owned is None or any(
        partition in assigned.get(topic_id, {}) for topic_id, partition in partitions_in(owned)
    )


def merged(first: Assigned, second: Assigned) -> Assigned:
    """The partitions of both."""
    found = dict(first)
    for topic_id, partitions in second.items():
        before = first.get(topic_id)
        found[topic_id] = {**before, **partitions} if before else partitions
    return found
