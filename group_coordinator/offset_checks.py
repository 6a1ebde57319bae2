"""Checks of commits and fetches in groups whose members have epochs: consumer and streams groups.

Source of the rules: Kafka's ConsumerGroup and StreamsGroup (validateOffsetCommit,
validateOffsetFetch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar
from uuid import UUID

from kafkalite.wire.errors import ErrorCode, KafkaError

MEMBER_EPOCHS_SINCE: Final = 9  # OffsetCommit

CheckCommitted = Callable[[UUID, int], None]
"""Checks a commit for one partition (topic id, index). KafkaError: the request is refused as a
whole."""


class MemberWithEpoch(Protocol):
    @property
    def member_epoch(self) -> int: ...
    @property
    def speaks_classic(self) -> bool: ...


M = TypeVar("M", bound=MemberWithEpoch)


def committing_member(
    members: Mapping[str, M],
    member_id: str,
    instance_id: str | None,
    member_epoch: int,
    *,
    is_transactional: bool,
) -> M | None:
    """The member that commits. None for a caller that may commit without being one: to an empty
    group, or in a transaction of a producer that names no member.

    Raises KafkaError(UNKNOWN_MEMBER_ID).
    """
    if member_epoch < 0 and not members:
        return None
    if is_transactional and member_epoch == -1 and not member_id and instance_id is None:
        return None
    member = members.get(member_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def check_commit_epoch(
    member: MemberWithEpoch,
    member_epoch: int,
    *,
    is_transactional: bool,
    api_version: int,
) -> ErrorCode | None:
    """None if the epoch is the member's, else the error for a partition that it got after that
    epoch.

    A commit with an older epoch is taken for partitions that the member has kept since (KIP-1251).

    Raises KafkaError: UNSUPPORTED_VERSION for a version that knows no epochs, ILLEGAL_GENERATION or
    STALE_MEMBER_EPOCH for an epoch ahead of the member's.
    """
    is_classic = member.speaks_classic
    if not is_transactional and not is_classic and api_version < MEMBER_EPOCHS_SINCE:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if member_epoch == member.member_epoch:
        return None
    stale = ErrorCode.STALE_MEMBER_EPOCH
    if is_classic or is_transactional:
        stale = ErrorCode.ILLEGAL_GENERATION
    if member_epoch > member.member_epoch:
        raise KafkaError(stale)
    return stale


def check_fetch(members: Mapping[str, M], member_id: str | None, member_epoch: int) -> None:
    """An administrator may fetch, and so may a member that is up to date.

    Raises KafkaError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, and ILLEGAL_GENERATION for a member
    that speaks the classic protocol; UNKNOWN_SERVER_ERROR for an epoch of no member, as Apache
    Kafka looks such a member up and fails.
    """
    if member_id is None:
        if member_epoch < 0:
            return
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    member = members.get(member_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if member_epoch != member.member_epoch:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION if member.speaks_classic else ErrorCode.STALE_MEMBER_EPOCH
        )
