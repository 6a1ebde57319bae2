"""A member of a modern group: of a consumer, share or streams group, whose coordinator divides the
work.

The coordinator decides what a member is to have (its target), and the member follows at its own
pace. It gives up what it is to lose before another member gets it:

    STABLE       has all it is to have, in the epoch of the target
    UNREVOKED    has been asked to give something up, and has not confirmed
    UNRELEASED   waits for something that others have not given up yet

Its epoch moves on to the target's when it has nothing left to give up. A member of a share group is
always stable. Kafka's names have the thing in them: UNREVOKED_PARTITIONS, UNREVOKED_TASKS.
Source: KIP-848, Kafka's ModernGroupMember, MemberState.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""The epoch of a static member that leaves and means to come back."""


class MemberState(Enum):
    """The state of a member. modern_records.py has its number in the log."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"
    UNKNOWN = "unknown"
    """A state that only a newer coordinator knows."""


class MemberEvent(Enum):
    """Events of a member on the way to its target. The values label the diagram's arrows."""

    MUST_REVOKE = "has something to give up"
    MUST_WAIT = "others have what it is to get"
    SETTLED = "has all it is to have"


_FROM_ANYWHERE = {
    MemberEvent.MUST_REVOKE: MemberState.UNREVOKED,
    MemberEvent.MUST_WAIT: MemberState.UNRELEASED,
    MemberEvent.SETTLED: MemberState.STABLE,
}

TRANSITIONS: dict[MemberState, dict[MemberEvent, MemberState]] = dict.fromkeys(
    MemberState, _FROM_ANYWHERE
)
"""A new target may come at any time, so that every state can follow every other."""


class ModernMember(Struct, frozen=True, kw_only=True):
    """A value: what changes a member makes another."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    state: MemberState = MemberState.STABLE
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1

    @property
    def speaks_classic(self) -> bool:
        """True for a member of a consumer group that joined with JoinGroup."""
        return False

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch
