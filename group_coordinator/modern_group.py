"""A modern group: its members, what they are to have, and what they have.

Consumer, share and streams groups are of this shape. Three epochs tell how far such a group is. The
*group epoch* grows with every change of members, subscriptions or topics. The *assignment epoch* is
the group epoch that the targets were computed for. Each member's epoch is the one it has reconciled
itself to. So the state is not kept but follows:

    Empty         no members
    NotReady      topics are missing, or are not as they are needed (streams groups only)
    Assigning     the targets are older than the group epoch
    Reconciling   some member has not got to its target yet
    Stable        all have

A group is what its records in `__consumer_offsets` say. They are applied here when they are written
and likewise when they are read back, so that the two cannot differ. Source: Kafka's ModernGroup.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from copy import copy
from enum import Enum
from typing import Any, ClassVar, Final, Generic, Self, TypeVar
from uuid import UUID

from msgspec.structs import replace

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.heartbeat_checks import group_not_found, unknown_member
from kafkalite.group_coordinator.modern_member import LEAVE_EPOCH, MemberState, ModernMember
from kafkalite.group_coordinator.modern_records import ModernRecords
from kafkalite.group_coordinator.offset_checks import (
    CheckCommitted,
    check_commit_epoch,
    check_fetch,
    committing_member,
)
from kafkalite.group_coordinator.steady_answers import SteadyAnswer
from kafkalite.group_coordinator.timers import Timer
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError

FIRST_EPOCH = 1  # 0 is that of a member that joins; nothing has been assigned in this one

_OF_THE_LOOP: Final = frozenset({"timers", "answers"})

M = TypeVar("M", bound=ModernMember)
T = TypeVar("T")
G = TypeVar("G", bound="ModernGroup[Any, Any]")


class ModernGroupState(Enum):
    """The values are the names that ListGroups and the Describe requests answer with."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class MemberTimers:
    """The deadlines of a member: to be heard of, to give up what it must, and (in the classic
    protocol) to join again and to sync."""

    __slots__ = ("join", "revoke", "session", "sync")

    def __init__(self, expire: Callable[[], None]) -> None:
        self.session = Timer(expire)
        self.revoke = Timer(expire)
        self.join = Timer(expire)
        self.sync = Timer(expire)

    def all(self) -> tuple[Timer, ...]:
        return self.session, self.revoke, self.join, self.sync

    def close(self) -> None:
        """The member is gone."""
        for timer in self.all():
            timer.close()


class ModernGroup(ABC, Generic[M, T]):
    """One group. `M` are its members, `T` is what each is to have.

    `timers`, `answers` and `is_metadata_stale` are not in the log. `version` is another one after
    each change.
    """

    records: ClassVar[ModernRecords]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.version = 0
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, M] = {}
        self.targets: dict[str, T] = {}
        self.timers: dict[str, MemberTimers] = {}
        self.answers: dict[str, SteadyAnswer] = {}
        """By member id, those of heartbeats that have changed nothing since the last record."""
        self.came: dict[str, None] = {}
        self.has_lost_some = False
        """Members that came, and whether some went, since it was told of (happenings.py)."""
        self.is_metadata_stale = True
        """Topics may have come, grown or gone since the hash was computed."""
        self._hashed: tuple[frozenset[str], int] | None = None
        """Topics, and the hash that they had."""

    @property
    def state(self) -> ModernGroupState:
        if not self.members:
            return ModernGroupState.EMPTY
        if not self.has_its_topics:
            return ModernGroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return ModernGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return ModernGroupState.STABLE
        return ModernGroupState.RECONCILING

    @property
    def has_its_topics(self) -> bool:
        return True

    @property
    def is_empty(self) -> bool:
        return not self.members

    def member(self, member_id: str) -> M:
        """The member, or KafkaError(UNKNOWN_MEMBER_ID)."""
        member = self.members.get(member_id)
        if member is None:
            raise unknown_member(self.group_id, member_id)
        return member

    @abstractmethod
    def depends_on(self, topics: Collection[str]) -> bool:
        """True if a change of these topics matters to the group."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool: ...

    def topics_changed(self) -> None:
        """Topics have come, grown or gone: the next heartbeat looks at them."""
        self.version += 1
        self.is_metadata_stale = True

    def hash_of(self, topics: frozenset[str], view: TopicsView, *, anew: bool) -> int:
        """The hash of its topics; computed again if they differ, or may have changed (`anew`)."""
        if anew or self._hashed is None or self._hashed[0] != topics:
            # Imported with the first group that needs it.
            from kafkalite.group_coordinator.metadata_hash import metadata_hash

            self._hashed = topics, metadata_hash(topics, view)
        return self._hashed[1]

    # A copy that a thread may change (rehearsal.py)

    def copy(self) -> Self:
        """A group that changes without this one. It has no timers."""
        made = copy(self)
        for name in [name for name, value in vars(self).items() if isinstance(value, dict)]:
            setattr(made, name, {} if name in _OF_THE_LOOP else copy(getattr(self, name)))
        return made

    def take_over(self, changed: Self) -> None:
        """Become what a copy of this group has become."""
        for member_id in self.timers.keys() - changed.members.keys():
            self.timers.pop(member_id).close()
        for name, value in vars(changed).items():
            if name not in _OF_THE_LOOP:
                setattr(self, name, value)
        self.answers.clear()

    # State from the records

    def apply(self, key: Any, value: Any, now_ms: int = 0) -> None:
        """Take in a record of this group, at a time on the wall clock."""
        self.version += 1
        self.answers.clear()
        records = self.records
        if isinstance(key, records.group):
            if value is not None:  # else the group ends (shard.py)
                self._apply_metadata(value)
        elif isinstance(key, records.target_epoch):
            if value is not None:
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
        elif isinstance(key, records.member):
            if value is None:
                self._remove(key.member_id)
            else:
                self._put(self._with_metadata(self._member(key.member_id), value))
        elif isinstance(key, records.target):
            if value is None:
                self.targets.pop(key.member_id, None)
            else:
                self.targets[key.member_id] = self._target_from(value)
        elif isinstance(key, records.current):
            if value is not None:
                self._put(self._with_assignment(self._member(key.member_id), value))
            elif key.member_id in self.members:
                self._put(self._without_assignment(self.members[key.member_id]))
        else:
            self._apply_further(key, value, now_ms)

    def _apply_metadata(self, value: Any) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def _member(self, member_id: str) -> M:
        return self.members.get(member_id) or self.new_member(member_id)

    @abstractmethod
    def new_member(self, member_id: str) -> M:
        """A member that is in no group yet."""

    @abstractmethod
    def _with_metadata(self, member: M, value: Any) -> M: ...
    @abstractmethod
    def _target_from(self, value: Any) -> T: ...
    @abstractmethod
    def _with_assignment(self, member: M, value: Any) -> M: ...
    @abstractmethod
    def _apply_further(self, key: object, value: Any, now_ms: int) -> None:
        """Take in a record that only groups of this type have."""

    def _without_assignment(self, member: M) -> M:
        return replace(
            member,
            member_epoch=LEAVE_EPOCH,
            previous_member_epoch=LEAVE_EPOCH,
            state=MemberState.STABLE,
        )

    def _put(self, member: M) -> None:
        if (before := self.members.get(member.member_id)) is not None:
            self._release(before)
        else:
            self.came[member.member_id] = None
        self.members[member.member_id] = member
        self._take(member)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self.targets.pop(member_id, None)
        if (timers := self.timers.pop(member_id, None)) is not None:
            timers.close()
        if member is not None:
            if member_id in self.came:
                del self.came[member_id]
            else:
                self.has_lost_some = True
            self._release(member)

    def _take(self, member: M) -> None:
        """Note what a member has."""

    def _release(self, member: M) -> None:
        """Forget what a member has had."""

    def close_timers(self) -> None:
        """The group is gone, or no longer coordinated here."""
        for timers in self.timers.values():
            timers.close()
        self.timers.clear()

    # Offsets and administration

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CheckCommitted | None:
        """KafkaError unless this caller may commit; the check of each partition, if not all are
        its own."""
        member = committing_member(
            self.members,
            member_id,
            group_instance_id,
            member_epoch,
            is_transactional=is_transactional,
        )
        if member is None:
            return None
        stale = check_commit_epoch(
            member, member_epoch, is_transactional=is_transactional, api_version=api_version
        )
        if stale is None:
            return None

        def check_committed(topic_id: UUID, partition: int) -> None:
            since = self.assigned_since(member, topic_id, partition)
            if since is None or member_epoch < since:
                raise KafkaError(stale)

        return check_committed

    @abstractmethod
    def assigned_since(self, member: M, topic_id: UUID, partition: int) -> int | None:
        """The epoch in which a member was given a partition; None if it does not have it."""

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """KafkaError unless an administrator asks, or a member that is up to date."""
        check_fetch(self.members, member_id, member_epoch)

    def validate_offset_delete(self) -> None:
        """Never refused: the topics that members subscribe to are known."""

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        return committed_at_ms

    def validate_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def tombstones(self) -> list[state_log.StateRecord]:
        """The records that end the group in the log."""
        changes = self.records.no_group(self.group_id, self.members, self._further_tombstones())
        return [state_log.encoded(*change) for change in changes]

    def _further_tombstones(self) -> Iterable[Change]:
        """The ends of the records that only groups of this type have."""
        return ()


def existing(kind: type[G], group_id: str, group: object | None, named: str = "Group") -> G:
    """The group, or KafkaError(GROUP_ID_NOT_FOUND) if it is missing or of another type."""
    if isinstance(group, kind):
        return group
    raise group_not_found(kind.records.group_type, group_id, group, named)
