"""The refusals that heartbeats of consumer, share and streams groups share (Kafka's throwIf...).

`kind` is the group's type as its members read it: "consumer", "share", "streams".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkalite.group_coordinator.modern_member import JOIN_EPOCH, ModernMember
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request

# A UUID as text has so many characters.
_LONGEST_SHARE_MEMBER_ID: Final = 36


def refuse_blank(*fields: tuple[str | None, str]) -> None:
    """Raise INVALID_REQUEST for the first (value, name) that is there and has no text."""
    for value, name in fields:
        if value is not None and not value.strip():
            raise invalid_request(f"{name} can't be empty.")


def unknown_member(group_id: str, member_id: str) -> KafkaError:
    return KafkaError(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
    )


def group_full(kind: str, largest: int) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The {kind} group has reached its maximum capacity of {largest} members.",
    )


def group_not_found(
    kind: str, group_id: str, group: object | None, named: str = "Group"
) -> KafkaError:
    """No group has that name, or the group that has it is of another type."""
    wrong = f"Group {group_id} is not a {kind} group."
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND, wrong if group else f"{named} {group_id} not found."
    )


def check_epoch(
    kind: str,
    member: ModernMember,
    epoch: int,
    has_all_it_names: Callable[[], bool] = lambda: True,
    *,
    if_behind: str = "",
) -> None:
    """Raise FENCED_MEMBER_EPOCH for an `epoch` that is not the member's, nor the one before.

    A member may be one epoch behind if the answer with the new one was lost. It may then name as
    its own only what it was given (`has_all_it_names`). `if_behind` goes into the message.
    """
    current = member.member_epoch
    if epoch in (JOIN_EPOCH, current):
        return
    if member.previous_member_epoch == epoch < current and has_all_it_names():
        return
    difference, besides = ("greater", "") if epoch > current else ("smaller", if_behind)
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {difference} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({current}){besides}. The member must abandon all its partitions "
        "and rejoin.",
    )


def is_share_member_id(member_id: str | None) -> bool:
    """True if a member of a share group may have this id (KafkaApis.isMemberIdValid)."""
    return bool(member_id) and len(member_id or "") <= _LONGEST_SHARE_MEMBER_ID
