"""The refusals that heartbeats of consumer, share and streams groups share (Kafka's throwIf...).

`kind` is the group's type as its members read it: "consumer", "share", "streams".
"""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode, KafkaError


def invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def refuse_blank(*fields: tuple[str | None, str]) -> None:
    """Raise INVALID_REQUEST for the first (value, name) that is there and has no text."""
    for value, name in fields:
        if value is not None and not value.strip():
            raise invalid(f"{name} can't be empty.")


def unknown_member(group_id: str, member_id: str) -> KafkaError:
    return KafkaError(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
    )


def group_full(kind: str, largest: int) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The {kind} group has reached its maximum capacity of {largest} members.",
    )


def fenced(kind: str, epoch: int, member_epoch: int, *, besides: str = "") -> KafkaError:
    """The member's `epoch` is not the coordinator's `member_epoch`, nor one it may still have."""
    difference = "greater" if epoch > member_epoch else "smaller"
    return KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The {kind} group member has a {difference} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({member_epoch}){besides}. The member must abandon all its "
        "partitions and rejoin.",
    )
