"""A streams member's way to its target: every state with everything that can be (KIP-1071)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkalite.group_coordinator.modern_member import TRANSITIONS
from kafkalite.group_coordinator.modern_member import MemberEvent as Event
from kafkalite.group_coordinator.modern_member import MemberState as State
from kafkalite.group_coordinator.streams_member import StreamsMember, Surroundings, reconcile
from kafkalite.group_coordinator.streams_tasks import AssignedTasks, TaskId, Tasks
from kafkalite.wire.errors import ErrorCode, KafkaError


def active(*partitions: int) -> Tasks:
    return Tasks({"0": frozenset(partitions)} if partitions else {})


def standby(*partitions: int) -> Tasks:
    return Tasks(standby={"0": frozenset(partitions)})


def has(*partitions: int, epoch: int = 1) -> AssignedTasks:
    return AssignedTasks({"0": dict.fromkeys(partitions, epoch)} if partitions else {})


def member(state: State = State.STABLE, **fields: object) -> StreamsMember:
    values = {"member_epoch": 4, "previous_member_epoch": 3, "process_id": "mine"} | fields
    return StreamsMember(member_id="m", state=state, **values)


def around(
    target: Tasks,
    *,
    owned: Tasks | None = None,
    epoch: int = 5,
    elsewhere: frozenset[int] = frozenset(),
    here: frozenset[int] = frozenset(),
    standby_here: frozenset[int] = frozenset(),
) -> Surroundings:
    def process(task: TaskId) -> str | None:
        if task[1] in elsewhere:
            return "other"
        return "mine" if task[1] in here else None

    return Surroundings(
        target=target,
        target_epoch=epoch,
        owned=owned,
        active_process=process,
        has_standby=lambda task, process_id: task[1] in standby_here,
        has_warmup=lambda task, process_id: False,
    )


# A member's tasks, its target, and whether another has what it lacks: the next step.
WANTED = {
    Event.SETTLED: (has(0), active(0, 1), frozenset()),
    Event.MUST_WAIT: (has(0), active(0, 1), frozenset({1})),
    Event.MUST_REVOKE: (has(0, 1), active(1, 2), frozenset()),
}


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", [State.STABLE, State.UNRELEASED, State.UNREVOKED])
def test_every_state_and_event(state: State, event: Event) -> None:
    assigned, target, elsewhere = WANTED[event]
    pending = has(7) if state is State.UNREVOKED else has()
    before = member(state, assigned=assigned, pending_revocation=pending)
    owned = active(0, 1) if event is Event.MUST_REVOKE else active(0)
    after = reconcile(before, around(target, owned=owned, elsewhere=elsewhere))
    assert after.state is TRANSITIONS[state][event]
    if event is Event.MUST_REVOKE:
        # Tasks given up are confirmed with one more epoch.
        assert after.member_epoch == (5 if state is State.UNREVOKED else 4)
        assert (after.assigned, after.pending_revocation) == (has(1), has(0))
    else:
        assert after.member_epoch == 5
        assert after.pending_revocation == has()
        gets = {0: 1} if event is Event.MUST_WAIT else {0: 1, 1: 5}
        assert after.assigned.active == {"0": gets}
    assert after.previous_member_epoch == 4


@pytest.mark.parametrize("event", Event)
def test_a_state_that_is_unknown_begins_anew(event: Event) -> None:
    assigned, target, elsewhere = WANTED[event]
    before = member(State.UNKNOWN, assigned=assigned)
    for owned in (None, active(0)):
        with pytest.raises(KafkaError) as refused:
            reconcile(before, around(target, owned=owned, elsewhere=elsewhere))
        assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    after = reconcile(before, around(target, owned=active(), elsewhere=elsewhere))
    wanted = Event.SETTLED if event is Event.MUST_REVOKE else event
    assert (after.state, after.member_epoch) == (TRANSITIONS[State.UNKNOWN][wanted], 5)


@pytest.mark.parametrize("owned", [None, active(0, 1), active(0)])
def test_a_revocation_that_is_not_confirmed(owned: Tasks | None) -> None:
    before = member(State.UNREVOKED, assigned=has(1), pending_revocation=has(0))
    assert reconcile(before, around(active(1, 2), owned=owned)) is before


def test_a_stable_member_in_the_epoch_of_the_target() -> None:
    before = member(member_epoch=5, assigned=has(0))
    assert reconcile(before, around(active(0))) is before


def test_what_it_does_not_say_it_has_it_need_not_give_up() -> None:
    before = member(assigned=has(0, 1))
    silent = reconcile(before, around(active(1)))
    assert silent.state is State.UNREVOKED
    told = reconcile(before, around(active(1), owned=active(1)))
    assert (told.state, told.assigned) == (State.STABLE, has(1))


def test_an_active_task_waits_for_the_standby_of_its_process() -> None:
    waits = reconcile(member(), around(active(1), owned=Tasks(), standby_here=frozenset({1})))
    assert (waits.state, waits.assigned) == (State.UNRELEASED, has())
    assert waits.member_epoch == 5


def test_a_standby_waits_for_the_active_task_of_its_process_only() -> None:
    waits = reconcile(member(), around(standby(1), owned=Tasks(), here=frozenset({1})))
    assert waits.state is State.UNRELEASED
    goes = reconcile(member(), around(standby(1), owned=Tasks(), elsewhere=frozenset({1})))
    assert (goes.state, goes.assigned.standby) == (State.STABLE, {"0": frozenset({1})})


def test_since_when_it_has_a_task() -> None:
    got = member(assigned=has(0, epoch=2), pending_revocation=has(3, epoch=1))
    epochs = [got.assignment_epoch(("0", index)) for index in (0, 3, 4)]
    assert epochs == [2, 1, None]
    assert replace(got, assigned=AssignedTasks()).assignment_epoch(("0", 0)) is None


def test_a_standby_becomes_active_step_by_step() -> None:
    """The role is given up first, as the state directory is locked."""
    before = member(assigned=AssignedTasks(standby={"0": frozenset({1})}))
    asked = reconcile(before, around(active(1), owned=standby(1), standby_here=frozenset({1})))
    assert asked.state is State.UNREVOKED
    assert asked.assigned.is_empty
    assert not asked.pending_revocation.is_empty
    done = reconcile(asked, around(active(1), owned=Tasks()))
    assert (done.state, done.assigned) == (State.STABLE, has(1, epoch=5))
