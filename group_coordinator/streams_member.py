"""A member of a streams group (KIP-1071), and how it gets from one assignment of tasks to another.

It may have to wait for its own process, too: a task is active in one process at a time, and no
process has it twice, as state directories are locked. Everything here is pure. The states are those
of modern_member.py. Source: Kafka's streams CurrentAssignmentBuilder, StreamsGroupMember.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from kafkalite.group_coordinator.modern_member import TRANSITIONS, ModernMember
from kafkalite.group_coordinator.modern_member import MemberEvent as Event
from kafkalite.group_coordinator.modern_member import MemberState as State
from kafkalite.group_coordinator.streams_tasks import (
    AssignedTasks,
    Partitions,
    PartitionsWithEpochs,
    TaskId,
    Tasks,
    task_ids,
)
from kafkalite.wire.errors import ErrorCode, KafkaError

Endpoint = tuple[str, int]
"""Host and port at which a process answers queries of its state."""


class StreamsMember(ModernMember, frozen=True, kw_only=True):
    """An instance of an application, in a process at an endpoint."""

    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    assigned: AssignedTasks = field(default_factory=AssignedTasks)
    pending_revocation: AssignedTasks = field(default_factory=AssignedTasks)

    def assignment_epoch(self, task: TaskId) -> int | None:
        """The epoch in which it was given an active task; None if it does not have it."""
        subtopology_id, partition = task
        for tasks in (self.assigned, self.pending_revocation):
            epoch = tasks.active.get(subtopology_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


class Surroundings(Struct, frozen=True, kw_only=True):
    """Everything a member's next step depends on, beside the member.

    `owned` are the tasks that it names as its own, None if it names none. `active_process`,
    `has_standby` and `has_warmup` tell which processes have a task now.
    """

    target: Tasks
    target_epoch: int
    owned: Tasks | None
    active_process: Callable[[TaskId], str | None]
    has_standby: Callable[[TaskId, str], bool]
    has_warmup: Callable[[TaskId, str], bool]


def check_state(member: StreamsMember, owned: Tasks | None) -> None:
    """Raises KafkaError(FENCED_MEMBER_EPOCH) for a member in a state that is unknown, which has to
    begin anew."""
    if member.state is State.UNKNOWN and (owned is None or not owned.is_empty):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The streams group member is in a unknown state. The member must abandon all its tasks "
            "and rejoin.",
        )


def reconcile(member: StreamsMember, around: Surroundings) -> StreamsMember:
    """One step towards the target. Raises KafkaError as `check_state`."""
    owned = around.owned
    match member.state:
        case State.STABLE:
            if member.member_epoch == around.target_epoch:
                return member
            return _step(member, around, member.member_epoch)
        case State.UNREVOKED:
            if owned is None or member.pending_revocation.shares_any(owned):
                return member
            return _step(member, around, member.member_epoch + 1)
        case State.UNRELEASED:
            return _step(member, around, member.member_epoch)
        case State.UNKNOWN:
            check_state(member, owned)
            return _step(member, around, around.target_epoch)


def _step(member: StreamsMember, around: Surroundings, member_epoch: int) -> StreamsMember:
    me, target, now = member.process_id, around.target, member.assigned

    def is_taken(task: TaskId) -> bool:
        return around.has_standby(task, me) or around.has_warmup(task, me)

    def is_mine(task: TaskId) -> bool:
        return around.active_process(task) == me or is_taken(task)

    active = _difference(
        {name: frozenset(epochs) for name, epochs in now.active.items()},
        target.active,
        lambda task: around.active_process(task) is not None or is_taken(task),
    )
    standby = _difference(now.standby, target.standby, is_mine)
    warmup = _difference(now.warmup, target.warmup, is_mine)
    kept = AssignedTasks(_epochs(active.kept, now.active), standby.kept, warmup.kept)
    lost = AssignedTasks(_epochs(active.lost, now.active), standby.lost, warmup.lost)
    new = AssignedTasks(
        {
            name: dict.fromkeys(sorted(partitions), around.target_epoch)
            for name, partitions in active.new.items()
        },
        standby.new,
        warmup.new,
    )
    must_revoke = not lost.is_empty and (around.owned is None or lost.shares_any(around.owned))
    if must_revoke:
        event, epoch, pending, assigned = Event.MUST_REVOKE, member_epoch, lost, kept
    else:
        must_wait = active.must_wait or standby.must_wait or warmup.must_wait
        event = Event.MUST_WAIT if must_wait else Event.SETTLED
        epoch, pending, assigned = around.target_epoch, AssignedTasks(), kept.merged(new)
    return replace(
        member,
        state=TRANSITIONS[member.state][event],
        previous_member_epoch=member.member_epoch,
        member_epoch=epoch,
        assigned=assigned,
        pending_revocation=pending,
    )


class _Difference(Struct, frozen=True):
    kept: Partitions
    lost: Partitions
    new: Partitions
    must_wait: bool


def _difference(
    now: Partitions, target: Partitions, is_unreleased: Callable[[TaskId], bool]
) -> _Difference:
    kept: dict[str, frozenset[int]] = {}
    lost: dict[str, frozenset[int]] = {}
    new: dict[str, frozenset[int]] = {}
    must_wait = False
    for name in {**now, **target}:
        have, want = now.get(name, frozenset()), target.get(name, frozenset())
        missing = want - have
        free = frozenset(index for index in missing if not is_unreleased((name, index)))
        must_wait |= free != missing
        for found, partitions in ((kept, have & want), (lost, have - want), (new, free)):
            if partitions:
                found[name] = partitions
    return _Difference(kept, lost, new, must_wait)


def _epochs(partitions: Partitions, epochs: PartitionsWithEpochs) -> dict[str, dict[int, int]]:
    return {
        name: {index: epochs[name][index] for index in sorted(indexes)}
        for name, indexes in partitions.items()
    }


def active_tasks(member: StreamsMember) -> Iterator[TaskId]:
    """The tasks that it has, and the tasks that it has yet to give up."""
    return chain(task_ids(member.assigned.active), task_ids(member.pending_revocation.active))
