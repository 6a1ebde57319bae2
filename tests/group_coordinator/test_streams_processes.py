"""The processes of a streams group's tasks: who has which, in which role."""

from __future__ import annotations

from msgspec.structs import replace

from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_processes import TaskProcesses
from kafkalite.group_coordinator.streams_tasks import AssignedTasks

MEMBER = StreamsMember(
    member_id="m",
    process_id="p",
    assigned=AssignedTasks(
        active={"0": {1: 5}}, standby={"0": frozenset({2})}, warmup={"0": frozenset({3})}
    ),
    pending_revocation=AssignedTasks(active={"0": {4: 5}}),
)


def test_tasks_are_taken_and_released() -> None:
    processes = TaskProcesses()
    processes.take(MEMBER)
    assert [processes.active_process(("0", index)) for index in (1, 2, 4)] == ["p", None, "p"]
    assert processes.has_standby(("0", 2), "p")
    assert processes.has_warmup(("0", 3), "p")
    assert not processes.has_standby(("0", 2), "q")
    processes.release(MEMBER)
    assert processes.active_process(("0", 1)) is None
    assert not processes.has_standby(("0", 2), "p")
    assert not processes.has_warmup(("0", 3), "p")


def test_a_task_that_another_took_stays_with_it() -> None:
    processes = TaskProcesses()
    processes.take(MEMBER)
    processes.take(replace(MEMBER, process_id="q"))
    processes.release(MEMBER)
    assert processes.active_process(("0", 1)) == "q"


def test_the_first_of_a_process_to_give_up_a_standby_frees_it_for_all() -> None:
    processes = TaskProcesses()
    processes.take(MEMBER)
    processes.take(replace(MEMBER, member_id="n"))
    processes.release(MEMBER)
    assert not processes.has_standby(("0", 2), "p")
    assert not processes.has_warmup(("0", 3), "p")


def test_a_copy_stays_as_it_was() -> None:
    processes = TaskProcesses()
    processes.take(MEMBER)
    copied = processes.copy()
    processes.release(MEMBER)
    assert copied.active_process(("0", 1)) == "p"
    assert copied.has_standby(("0", 2), "p")
    assert copied.has_warmup(("0", 3), "p")
