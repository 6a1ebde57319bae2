"""The processes of a streams group's tasks (KIP-1071): a task is active in one of them at a time.

A process has a standby or warm-up task or not, however many of its members have it: as in Kafka,
the first of them to give it up frees it for all, until another of them is noted anew.
Source: Kafka's StreamsGroup (currentActiveTaskToProcessId and its like).
"""

from __future__ import annotations

from itertools import repeat

from kafkalite.group_coordinator.streams_member import StreamsMember, active_tasks
from kafkalite.group_coordinator.streams_tasks import TaskId, task_ids


class TaskProcesses:
    """The processes of members that have a task, or have yet to give it up."""

    __slots__ = ("_active", "_standby", "_warmup")

    def __init__(self) -> None:
        self._active: dict[TaskId, str] = {}
        self._standby: set[tuple[TaskId, str]] = set()
        self._warmup: set[tuple[TaskId, str]] = set()

    def copy(self) -> TaskProcesses:
        copied = TaskProcesses()
        copied._active.update(self._active)
        copied._standby.update(self._standby)
        copied._warmup.update(self._warmup)
        return copied

    def take(self, member: StreamsMember) -> None:
        process_id = member.process_id
        self._active.update(zip(active_tasks(member), repeat(process_id)))
        for tasks in (member.assigned, member.pending_revocation):
            self._standby.update(zip(task_ids(tasks.standby), repeat(process_id)))
            self._warmup.update(zip(task_ids(tasks.warmup), repeat(process_id)))

    def release(self, member: StreamsMember) -> None:
        process_id = member.process_id
        for task in active_tasks(member):
            if self._active.get(task) == process_id:
                del self._active[task]
        for tasks in (member.assigned, member.pending_revocation):
            self._standby.difference_update(zip(task_ids(tasks.standby), repeat(process_id)))
            self._warmup.difference_update(zip(task_ids(tasks.warmup), repeat(process_id)))

    def active_process(self, task: TaskId) -> str | None:
        """The process in which a task is active, or has yet to end."""
        return self._active.get(task)

    def has_standby(self, task: TaskId, process_id: str) -> bool:
        return (task, process_id) in self._standby

    def has_warmup(self, task: TaskId, process_id: str) -> bool:
        return (task, process_id) in self._warmup
