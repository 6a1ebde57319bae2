"""A view of all groups, and changes that the test of a client makes to them without a request.

Members are removed as if their sessions had ended, and rebalances begin without a cause. Sessions
are put off when a test moves the clock while the members are well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_protocol import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicProtocol
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import ConsumerMember
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.group_overrides import GroupOverrides
from kafkalite.group_coordinator.happenings import Happenings
from kafkalite.group_coordinator.offset_api import OffsetExpiry, OffsetRequests
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.timers import AT_ONCE, NEVER, Timer, Timers

# A group's id and a member's.
MemberOfGroup = tuple[str, str]


class Deadline(Struct, frozen=True):
    """The time at which a member is removed unless it is heard of, in the clock's seconds."""

    at: float
    group_id: str
    member_id: str


class Session(Struct, frozen=True):
    """The seconds that are left of a member's session, and those since it was heard of."""

    left: float
    silent: float


class Interventions:
    """A view of all groups that are coordinated here, and changes of them."""

    def __init__(
        self,
        shards: Shards,
        timers: Timers,
        classic: ClassicProtocol,
        consumer: ConsumerProtocol,
        overrides: GroupOverrides,
        offsets: OffsetRequests,
        happenings: Happenings,
        sweep: Timer,
        expiring_offsets: Callable[[], Iterator[int]],
    ) -> None:
        self._overrides = overrides
        self._shards = shards
        self._timers = timers
        self._classic = classic
        self._consumer = consumer
        self._offsets = offsets
        self._happenings = happenings
        self._sweep = sweep
        # Deletes the offsets whose retention has passed, in steps.
        self.expiring_offsets = expiring_offsets

    def groups(self) -> Iterator[Group]:
        """All groups."""
        for shard in self._shards.loaded.values():
            yield from shard.groups.values()

    def group(self, group_id: str) -> Group | None:
        """One group, if there is one of that name."""
        return next((each for each in self.groups() if each.group_id == group_id), None)

    def shard_of(self, group_id: str) -> Shard | None:
        """The shard that has the group."""
        return next(
            (each for each in self._shards.loaded.values() if group_id in each.groups), None
        )

    def _timers_of(self, group: Group, member_id: str) -> tuple[Timer, ...]:
        if isinstance(group, ClassicGroup):
            return (group.members[member_id].session,)
        timers = group.timers.get(member_id)
        return () if timers is None else timers.all()

    def session(self, group: Group, member_id: str) -> Session | None:
        """A member's session; None while it is parked in a request, which is no silence."""
        if isinstance(group, ClassicGroup):
            classic = group.members[member_id]
            if not classic.may_expire():
                return None
            timer, lasts_ms = classic.session, classic.session_timeout_ms
            if classic.is_new:
                lasts_ms = NEW_MEMBER_JOIN_TIMEOUT_MS
        elif member_id not in group.timers:
            return None
        else:
            timer = group.timers[member_id].session
            lasts_ms = self._overrides.session_timeout_ms(group.group_type, group.group_id)
            member = group.members[member_id]
            if isinstance(member, ConsumerMember) and member.classic is not None:
                lasts_ms = member.classic.session_timeout_ms
        if not timer.is_set:
            return None
        left = timer.deadline - self._timers.clock()
        return Session(max(0.0, left), max(0.0, lasts_ms / 1000 - left))

    def deadlines(self) -> list[Deadline]:
        """The end of each member's time, the earliest first."""
        found: list[Deadline] = []
        for group in self.groups():
            for member_id in group.members:
                at = min(
                    (timer.deadline for timer in self._timers_of(group, member_id)), default=NEVER
                )
                if at != NEVER:
                    found.append(Deadline(at, group.group_id, member_id))
        return sorted(found, key=lambda each: each.at)

    def put_off(self, members: Collection[MemberOfGroup], seconds: float) -> int:
        """Give these members so much more time. Returns how many there were."""
        count = 0
        for group in self.groups():
            for member_id in group.members:
                if (group.group_id, member_id) in members:
                    count += 1
                    for timer in self._timers_of(group, member_id):
                        if timer.is_set:
                            # The queue finds out when the earlier time comes up (timers.py).
                            timer.deadline += seconds
        return count

    def committed_offsets(self) -> Iterator[list[tuple[str, str, int]]]:
        """Group, topic and partition of each committed offset, of a group at a time: others may
        change them in between."""
        for shard in list(self._shards.loaded.values()):
            for group_id in list(shard.groups):
                yield [
                    (group_id, topic, partition)
                    for topic, partitions in shard.offsets.partitions_of(group_id).items()
                    for partition in partitions
                ]

    def offset_expiries(self) -> Iterator[list[OffsetExpiry]]:
        """The times from which committed offsets may go, in the same way."""
        for shard in list(self._shards.loaded.values()):
            for group_id, group in list(shard.groups.items()):
                yield list(self._offsets.expiries(shard, group_id, group))

    def next_time(self) -> float:
        """The next time at which something may fall due, in the clock's seconds."""
        return self._timers.next_time()

    def put_off_sweep(self, until: float) -> None:
        """Look for offsets to delete no earlier than this: a jump of days over very many offsets
        would look at all of them for each ten minutes."""
        if self._sweep.is_set and self._sweep.deadline < until:
            self._timers.set(self._sweep, until - self._timers.clock())

    def expire_due(self) -> None:
        """Call timers whose time has come, the earliest first: some of them, if they are many."""
        self._timers.expire_due(AT_ONCE)

    @contextmanager
    def passing(self, until: float) -> Generator[None]:
        """The clock is on its way to `until`: others set timers as if it were there."""
        self._timers.passing_until = until
        try:
            yield
        finally:
            self._timers.passing_until = -NEVER

    @contextmanager
    def telling_expired(self) -> Generator[list[MemberOfGroup]]:
        """Collect the members that are sent away."""
        gone: list[MemberOfGroup] = []
        self._happenings.expired = gone
        try:
            yield gone
        finally:
            self._happenings.expired = None

    def expire(self, group: Group, member_id: str) -> None:
        """Remove a member as if its session had ended. Raises KeyError for an unknown one."""
        if isinstance(group, ClassicGroup):
            self._classic.expel(group, group.members[member_id])
        else:
            group.timers[member_id].session.expire()

    def rebalance(self, group: Group) -> None:
        """Begin a rebalance: all join again, or are assigned anew.

        An empty group stays as it is, and so does a share group, whose members need not
        agree.
        """
        if not group.members:
            return
        if isinstance(group, ClassicGroup):
            self._classic.rebalances.rebalance(group)
        elif isinstance(group, ConsumerGroup):
            self._consumer.rebalance(group)

    def assign(self, group: ConsumerGroup, targets: Mapping[str, Target]) -> None:
        """Have members (by id) take these partitions, until the group is assigned anew."""
        self._consumer.assign(group, targets)
