"""Checks of commits and fetches of members with epochs: one table for both kinds of groups."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kafkalite.group_coordinator.offset_checks import (
    check_commit_epoch,
    check_fetch,
    committing_member,
)
from kafkalite.wire.errors import ErrorCode, KafkaError


@dataclass(frozen=True)
class Member:
    member_epoch: int = 5
    speaks_classic: bool = False


MEMBERS = {"m": Member()}
NONE_OF_THEM: dict[str, Member] = {}


def test_the_member_that_commits() -> None:
    assert committing_member(MEMBERS, "m", None, 5, is_transactional=False) is MEMBERS["m"]


@pytest.mark.parametrize(
    ("members", "member_id", "instance_id", "epoch", "is_transactional", "may"),
    [
        (NONE_OF_THEM, "", None, -1, False, True),
        (NONE_OF_THEM, "x", None, -1, False, True),
        (NONE_OF_THEM, "", None, 0, False, False),
        (MEMBERS, "", None, -1, False, False),
        (MEMBERS, "", None, -1, True, True),
        (MEMBERS, "x", None, -1, True, False),
        (MEMBERS, "", "i", -1, True, False),
        (MEMBERS, "", None, 0, True, False),
    ],
)
def test_callers_that_are_no_members(
    members: dict[str, Member],
    member_id: str,
    instance_id: str | None,
    epoch: int,
    is_transactional: bool,
    may: bool,
) -> None:
    if may:
        assert (
            committing_member(
                members, member_id, instance_id, epoch, is_transactional=is_transactional
            )
            is None
        )
        return
    with pytest.raises(KafkaError) as refused:
        committing_member(members, member_id, instance_id, epoch, is_transactional=is_transactional)
    assert refused.value.code is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("is_classic", "is_transactional", "code"),
    [
        (False, False, ErrorCode.STALE_MEMBER_EPOCH),
        (True, False, ErrorCode.ILLEGAL_GENERATION),
        (False, True, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_epochs_of_a_commit(is_classic: bool, is_transactional: bool, code: ErrorCode) -> None:
    def check(epoch: int) -> ErrorCode | None:
        return check_commit_epoch(
            Member(speaks_classic=is_classic),
            epoch,
            is_transactional=is_transactional,
            api_version=9,
        )

    assert check(5) is None
    assert check(4) is code, "for partitions that the member had not had by then"
    with pytest.raises(KafkaError) as refused:
        check(6)
    assert refused.value.code is code


@pytest.mark.parametrize(
    ("is_classic", "is_transactional", "is_served"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_epochs_are_known_since_version_9(
    is_classic: bool, is_transactional: bool, is_served: bool
) -> None:
    def check() -> None:
        check_commit_epoch(
            Member(speaks_classic=is_classic),
            5,
            is_transactional=is_transactional,
            api_version=8,
        )

    if is_served:
        check()
        return
    with pytest.raises(KafkaError) as refused:
        check()
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        (None, -1, ErrorCode.NONE),  # an administrator
        ("m", 5, ErrorCode.NONE),
        ("m", 4, ErrorCode.STALE_MEMBER_EPOCH),
        ("m", 6, ErrorCode.STALE_MEMBER_EPOCH),
        ("c", 4, ErrorCode.ILLEGAL_GENERATION),
        ("x", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 0, ErrorCode.UNKNOWN_SERVER_ERROR),  # Apache Kafka fails
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_fetching(member_id: str | None, epoch: int, code: ErrorCode) -> None:
    members = MEMBERS | {"c": Member(speaks_classic=True)}
    if code is ErrorCode.NONE:
        check_fetch(members, member_id, epoch)
        return
    with pytest.raises(KafkaError) as refused:
        check_fetch(members, member_id, epoch)
    assert refused.value.code is code
