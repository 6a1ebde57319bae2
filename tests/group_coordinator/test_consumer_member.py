"""One member, one step nearer to its target: every state with every situation."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from kafkalite.group_coordinator.consumer_member import ConsumerMember, Surroundings, reconcile
from kafkalite.group_coordinator.modern_member import MemberState as State

A, B = UUID(int=1), UUID(int=2)


def member(state, *partitions, pending=(), epoch=5):
    return ConsumerMember(
        member_id="m",
        member_epoch=epoch,
        previous_member_epoch=4,
        state=state,
        assigned={A: dict.fromkeys(partitions, epoch)} if partitions else {},
        pending_revocation={A: dict.fromkeys(pending, epoch)} if pending else {},
    )


def around(*target, epoch=6, owned=None, taken=(), subscribed=(A,), changed=False):
    return Surroundings(
        target={A: frozenset(target)} if target else {},
        target_epoch=epoch,
        subscribed=frozenset(subscribed),
        owned=None if owned is None else {A: frozenset(owned)},
        is_free=lambda topic_id, partition: partition not in taken,
        subscription_changed=changed,
    )


def has(member):
    return set(member.assigned.get(A, {})), set(member.pending_revocation.get(A, {}))


# Before: (assigned, pending revocation). Around: other members. After: state, epoch, assigned,
# pending.
STEPS = {
    State.STABLE: [
        (((0, 1), ()), around(0, 1), (State.STABLE, 6, {0, 1}, set())),
        (((0, 1), ()), around(0), (State.UNREVOKED, 5, {0}, {1})),
        (((0, 1), ()), around(0, owned=(0, 1)), (State.UNREVOKED, 5, {0}, {1})),
        (((0, 1), ()), around(0, owned=(0,)), (State.STABLE, 6, {0}, set())),
        (((0,), ()), around(0, 1), (State.STABLE, 6, {0, 1}, set())),
        (((0,), ()), around(0, 1, taken=(0, 1)), (State.UNRELEASED, 6, {0}, set())),
        (
            ((0,), ()),
            around(0, 1, 2, taken=(0, 1)),
            (State.UNRELEASED, 6, {0, 2}, set()),
        ),
        (((0,), ()), around(1, taken=(0,)), (State.UNREVOKED, 5, set(), {0})),
        (((0,), ()), around(0, 1, epoch=5), (State.STABLE, 5, {0}, set())),
        (((0,), ()), around(0, subscribed=()), (State.UNREVOKED, 5, set(), {0})),
        (
            ((0,), ()),
            around(0, epoch=5, subscribed=(B,), changed=True),
            (State.UNREVOKED, 5, set(), {0}),
        ),
        (
            ((0,), ()),
            around(0, epoch=5, subscribed=(B,), changed=True, owned=()),
            (State.STABLE, 5, set(), set()),
        ),
    ],
    State.UNREVOKED: [
        (((0,), (1,)), around(0), (State.UNREVOKED, 5, {0}, {1})),
        (((0,), (1,)), around(0, owned=(0, 1)), (State.UNREVOKED, 5, {0}, {1})),
        (((0,), (1,)), around(0, owned=(0,)), (State.STABLE, 6, {0}, set())),
        (((0,), (1,)), around(0, 2, owned=(0,)), (State.STABLE, 6, {0, 2}, set())),
        (
            ((0,), (1,)),
            around(2, owned=(0,), taken=(0, 1, 2)),
            (State.UNREVOKED, 5, set(), {0}),
        ),
        (
            ((0,), (1,)),
            around(0, 2, owned=(0,), taken=(0, 1, 2)),
            (State.UNRELEASED, 6, {0}, set()),
        ),
        # A partition that it was to give up is its own again: no other member can have it.
        (((0,), (1,)), around(0, 1, owned=(0,), taken=(0, 1)), (State.STABLE, 6, {0, 1}, set())),
    ],
    State.UNRELEASED: [
        (
            ((0,), ()),
            around(0, 1, epoch=5, taken=(0, 1)),
            (State.UNRELEASED, 5, {0}, set()),
        ),
        (((0,), ()), around(0, 1, epoch=5), (State.STABLE, 5, {0, 1}, set())),
        (((0,), ()), around(0), (State.STABLE, 6, {0}, set())),
        (((0,), ()), around(1, taken=(0,)), (State.UNREVOKED, 5, set(), {0})),
    ],
    State.UNKNOWN: [
        (((0,), ()), around(0), (State.STABLE, 6, {0}, set())),
        (((0,), ()), around(), (State.UNREVOKED, 6, set(), {0})),
        (((0,), ()), around(0, 1, taken=(0, 1)), (State.UNRELEASED, 6, {0}, set())),
    ],
}


@pytest.mark.parametrize(
    ("state", "before", "surroundings", "expected"),
    [(state, *step) for state, steps in STEPS.items() for step in steps],
)
def test_steps(state, before, surroundings, expected):
    after = reconcile(member(state, *before[0], pending=before[1]), surroundings)
    assert (after.state, after.member_epoch, *has(after)) == expected


def test_every_state_is_there():
    assert set(STEPS) == set(State)


def test_partitions_keep_the_epoch_they_were_given_in():
    after = reconcile(member(State.STABLE, 0), around(0, 1))
    assert after.assigned == {A: {0: 5, 1: 6}}
    losing = reconcile(after, around(1, epoch=7))
    assert losing.pending_revocation == {A: {0: 5}}
    assert (losing.assignment_epoch(A, 0), losing.assignment_epoch(A, 1)) == (5, 6)
    assert losing.assignment_epoch(A, 2) is None


def test_the_previous_epoch_is_remembered():
    after = reconcile(member(State.STABLE, 0), around(0))
    assert (after.previous_member_epoch, after.member_epoch) == (5, 6)


def test_nothing_to_do_changes_nothing():
    settled = member(State.STABLE, 0, epoch=6)
    assert reconcile(settled, around(0)) is settled
    away = replace(settled, member_epoch=-2)
    assert reconcile(away, around(0, epoch=-2)) is away
