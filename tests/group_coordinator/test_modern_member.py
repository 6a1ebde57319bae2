"""The states of a member of a modern group."""

from __future__ import annotations

from kafkalite.group_coordinator.modern_member import (
    TRANSITIONS,
    MemberEvent,
    MemberState,
    ModernMember,
)


def test_every_state_follows_every_other() -> None:
    assert set(TRANSITIONS) == set(MemberState)
    for row in TRANSITIONS.values():
        assert row == {
            MemberEvent.MUST_REVOKE: MemberState.UNREVOKED,
            MemberEvent.MUST_WAIT: MemberState.UNRELEASED,
            MemberEvent.SETTLED: MemberState.STABLE,
        }


def test_a_member_is_reconciled_in_the_epoch_of_its_target() -> None:
    member = ModernMember(member_id="m", member_epoch=5)
    assert member.is_reconciled_to(5)
    assert not member.is_reconciled_to(6)
    waits = ModernMember(member_id="m", member_epoch=5, state=MemberState.UNRELEASED)
    assert not waits.is_reconciled_to(5)
