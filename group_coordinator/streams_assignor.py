"""The sticky assignor of streams groups: who gets which tasks (KIP-1071).

Active tasks stay with their member, or go to one that has a standby of them, as long as that
leaves no member with more than a fair share. The others go to the process with the least load, and
in it to the member with the fewest tasks. Then standby tasks are given out likewise, never two
copies of a task to one process.

Among equals it is the one that Kafka's hash tables and queues have first: clients choose the ids
that these go by. Pure functions. Source: Kafka's StickyTaskAssignor, ProcessState.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter

from kafkalite.group_coordinator.java_queue import JavaPriorityQueue
from kafkalite.group_coordinator.streams_tasks import TaskId, Tasks, task_ids
from kafkalite.wire.java_order import in_map_order

_by_partition = itemgetter(1, 0)


@dataclass(frozen=True, slots=True)
class StreamsCandidate:
    """A member as the assignor sees it: `owned` is its target so far."""

    member_id: str
    process_id: str
    owned: Tasks


class _Process:
    """A process with its members, and what each of them has got so far."""

    def __init__(self) -> None:
        self._by_load: JavaPriorityQueue[str] | None = None
        self._count = 0
        self.counts: dict[str, int] = {}
        self.tasks: set[TaskId] = set()
        # By member and subtopology.
        self.active: dict[str, dict[str, set[int]]] = {}
        self.standby: dict[str, dict[str, set[int]]] = {}

    @property
    def load(self) -> float:
        return self._count / len(self.counts)

    def give(self, member_id: str, task: TaskId, *, active: bool) -> int:
        """Returns the number of tasks the member has then."""
        self._by_load = None
        return self._give(member_id, task, active=active)

    def give_to_lightest(self, task: TaskId, *, active: bool) -> int:
        """Give it to the member with the fewest tasks; the number of tasks it has then."""
        if len(self.counts) == 1:
            return self._give(next(iter(self.counts)), task, active=active)
        if self._by_load is None:
            self._by_load = JavaPriorityQueue(self.counts.__getitem__)
            for member_id in in_map_order(self.counts):
                self._by_load.add(member_id)
        member_id = self._by_load.poll()
        given = self._give(member_id, task, active=active)
        self._by_load.add(member_id)
        return given

    def _give(self, member_id: str, task: TaskId, *, active: bool) -> int:
        self.tasks.add(task)
        of_member = (self.active if active else self.standby).setdefault(member_id, {})
        if (partitions := of_member.get(task[0])) is None:
            partitions = of_member[task[0]] = set()
        partitions.add(task[1])
        self._count += 1
        count = self.counts[member_id] = self.counts[member_id] + 1
        return count


class _Share:
    """A member's fair share of tasks: what is left, by those that have not got theirs."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.size = self._compute()

    def _compute(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def reached(self, member_tasks: int) -> None:
        """A member has so many tasks now; when that is its share, the others share the rest."""
        if member_tasks == self.size:
            self._members -= 1
            self._tasks -= member_tasks
            self.size = self._compute()


def assign_sticky(
    members: Sequence[StreamsCandidate],
    task_counts: Mapping[str, int],
    stateful: Iterable[str],
    standby_count: int,
) -> dict[str, Tasks]:
    """Each member's target, from the number of tasks of each subtopology."""
    return _Assignment(members, task_counts, frozenset(stateful), standby_count).run()


class _Assignment:
    def __init__(
        self,
        members: Sequence[StreamsCandidate],
        task_counts: Mapping[str, int],
        stateful: frozenset[str],
        standby_count: int,
    ) -> None:
        by_id = {member.member_id: member for member in members}
        self._members = [by_id[member_id] for member_id in in_map_order(by_id)]
        self._active = list(task_ids({name: range(size) for name, size in task_counts.items()}))
        self._stateful = [task for task in self._active if task[0] in stateful]
        self._standby_count = standby_count
        total = len(self._active) + len(self._stateful) * standby_count
        self._active_share = _Share(len(self._active), len(members))
        self._share = _Share(total, len(members))
        self._processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._had_active: dict[TaskId, str] = {}
        self._had_standby: dict[TaskId, list[str]] = {}
        for member in self._members:
            process = self._processes.setdefault(member.process_id, _Process())
            process.counts[member.member_id] = 0
            self._process_of[member.member_id] = process
            self._had_active.update(zip(task_ids(member.owned.active), repeat(member.member_id)))
            for task in task_ids(member.owned.standby):
                self._had_standby.setdefault(task, []).append(member.member_id)

    def run(self) -> dict[str, Tasks]:
        if self._members:
            self._assign_active()
            if self._standby_count:
                self._assign_standby()
        return {
            member.member_id: Tasks(
                _by_subtopology(self._process_of[member.member_id].active, member.member_id),
                _by_subtopology(self._process_of[member.member_id].standby, member.member_id),
            )
            for member in self._members
        }

    def _give(self, member_id: str, task: TaskId, *, active: bool) -> None:
        self._given(self._process_of[member_id].give(member_id, task, active=active), active=active)

    def _given(self, tasks: int, *, active: bool) -> None:
        """A member has so many tasks now."""
        if active:
            self._active_share.reached(tasks)
        self._share.reached(tasks)

    def _by_load(self) -> JavaPriorityQueue[_Process]:
        """The processes, the one with the least load first."""
        queue = JavaPriorityQueue[_Process](lambda process: process.load)
        for process_id in in_map_order(self._processes, len(self._members)):
            queue.add(self._processes[process_id])
        return queue

    def _assign_active(self) -> None:
        left = self._active
        if self._had_active or self._had_standby:
            tasks = sorted(left, key=_by_partition)
            left = [task for task in tasks if not self._keep_active(task)]
            left = [task for task in left if not self._promote(task)]
        left = sorted(left)
        queue = self._by_load()
        # One process alone is the one with the least load, whatever it has.
        alone = next(iter(self._processes.values())) if len(self._processes) == 1 else None
        for task in left:
            process = alone or queue.poll()
            self._given(process.give_to_lightest(task, active=True), active=True)
            if alone is None:
                queue.add(process)

    def _keep_active(self, task: TaskId) -> bool:
        return self._give_if_fair(self._had_active.get(task), task)

    def _promote(self, task: TaskId) -> bool:
        """A standby has the state already."""
        had = self._had_standby.get(task)
        return had is not None and self._give_if_fair(self._lightest_of(had), task)

    def _give_if_fair(self, member_id: str | None, task: TaskId) -> bool:
        if member_id is None or self._tasks_of(member_id) >= self._active_share.size:
            return False
        self._give(member_id, task, active=True)
        return True

    def _tasks_of(self, member_id: str) -> int:
        return self._process_of[member_id].counts[member_id]

    def _lightest_of(self, member_ids: Iterable[str], without: TaskId | None = None) -> str | None:
        """The one of these with the least load whose process does not have the task `without`."""
        found: str | None = None
        for member_id in member_ids:
            process = self._process_of[member_id]
            if without is not None and without in process.tasks:
                continue
            if found is None or (
                process.load < self._process_of[found].load
                and self._tasks_of(member_id) < self._tasks_of(found)
            ):
                found = member_id
        return found

    def _assign_standby(self) -> None:
        tasks = sorted(self._stateful, key=_by_partition, reverse=True)
        left: list[tuple[TaskId, int]] = []
        for task in tasks:
            missing = self._standby_count
            while missing and self._keep_standby(task):
                missing -= 1
            if missing:
                left.append((task, missing))
        left.sort(reverse=True)
        queue = self._by_load()
        for task, missing in left:
            for _ in range(missing):
                if not self._give_standby(queue, task):
                    break

    def _give_standby(self, queue: JavaPriorityQueue[_Process], task: TaskId) -> bool:
        """Give it to the first process that does not have the task; False if all have it."""
        polled: list[_Process] = []
        found = False
        while queue and not found:
            polled.append(queue.poll())
            found = task not in polled[-1].tasks
        if found:
            self._given(polled[-1].give_to_lightest(task, active=False), active=False)
        for process in reversed(polled):
            queue.add(process)
        return found

    def _keep_standby(self, task: TaskId) -> bool:
        """Keep it where the state is: with the member that processed the task, or had a standby."""
        before = self._had_active.get(task)
        if (
            before is not None
            and task not in self._process_of[before].tasks
            and self._tasks_of(before) < self._share.size
        ):
            self._give(before, task, active=False)
            return True
        standby = self._lightest_of(self._had_standby.get(task, ()), without=task)
        if standby is None or self._tasks_of(standby) >= self._share.size:
            return False
        self._give(standby, task, active=False)
        return True


def _by_subtopology(
    given: Mapping[str, Mapping[str, set[int]]], member_id: str
) -> dict[str, frozenset[int]]:
    of_member = given.get(member_id, {})
    return {name: frozenset(of_member[name]) for name in sorted(of_member)}
