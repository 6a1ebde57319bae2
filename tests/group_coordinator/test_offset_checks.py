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
            MEMBERS["m"],
            epoch,
            is_classic=is_classic,
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
            MEMBERS["m"],
            5,
            is_classic=is_classic,
            is_transactional=is_transactional,
            api_version=8,
        )

    if is_served:
        check()
        return
    with pytest.raises(KafkaError) as refused:
        check()
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_fetching() -> None:
    assert check_fetch(MEMBERS, None, -1) is None, "an administrator"
    assert check_fetch(MEMBERS, "m", 5) is None
    assert check_fetch(MEMBERS, "m", 4) is MEMBERS["m"]
    for stranger, epoch in (("x", 5), (None, 0), ("", -1)):
        with pytest.raises(KafkaError) as refused:
            check_fetch(MEMBERS, stranger, epoch)
        assert refused.value.code is ErrorCode.UNKNOWN_MEMBER_ID
