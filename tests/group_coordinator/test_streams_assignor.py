"""The sticky assignor: every task once, evenly, where its state is; standbys in other processes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from kafkalite.group_coordinator.streams_assignor import StreamsCandidate, assign_sticky
from kafkalite.group_coordinator.streams_tasks import TaskId, Tasks, task_ids
from tests.each import for_each


def members(
    *processes: int, owned: Mapping[str, Tasks] | None = None, prefix: str = "m"
) -> list[StreamsCandidate]:
    """So many members in each process."""
    found: list[StreamsCandidate] = []
    for process, count in enumerate(processes):
        for _ in range(count):
            name = f"{prefix}{len(found)}"
            found.append(StreamsCandidate(name, f"p{process}", (owned or {}).get(name, Tasks())))
    return found


def actives(targets: Mapping[str, Tasks]) -> Counter[TaskId]:
    return Counter(task for target in targets.values() for task in task_ids(target.active))


def loads(targets: Mapping[str, Tasks]) -> list[int]:
    return sorted(len(list(task_ids(target.active))) for target in targets.values())


@pytest.mark.parametrize("task_count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("member_count", [1, 2, 3, 5, 20])
def test_every_task_once_and_evenly(member_count: int, task_count: int) -> None:
    group = members(*[1] * member_count)
    targets = assign_sticky(group, {"0": task_count, "1": 2}, [], 0)
    total = task_count + 2
    assert actives(targets) == Counter(
        [("0", i) for i in range(task_count)] + [("1", i) for i in range(2)]
    )
    assert loads(targets)[0] >= total // member_count
    assert loads(targets)[-1] <= -(-total // member_count)


def test_it_sticks() -> None:
    first = assign_sticky(members(1, 1, 1), {"0": 12}, ["0"], 1)
    again = assign_sticky(members(1, 1, 1, owned=first), {"0": 12}, ["0"], 1)
    assert actives(again) == actives(first)
    for name, target in again.items():
        assert target.active == first[name].active, "nothing moves without a reason"


def test_a_newcomer_gets_its_share_and_the_rest_stays() -> None:
    first = assign_sticky(members(1, 1), {"0": 8}, [], 0)
    grown = assign_sticky(members(1, 1, 1, owned=first), {"0": 8}, [], 0)
    assert loads(grown) == [2, 3, 3]
    for name in first:
        before, now = set(task_ids(first[name].active)), set(task_ids(grown[name].active))
        assert now < before


def test_a_standby_takes_over() -> None:
    first = assign_sticky(members(1, 1), {"0": 4}, ["0"], 1)
    lost, kept = first["m0"], first["m1"]
    assert lost.active == kept.standby
    (alone,) = [member for member in members(1, 1, owned=first) if member.member_id == "m1"]
    targets = assign_sticky([alone, *members(1, prefix="n")], {"0": 4}, ["0"], 1)
    mine = set(task_ids(targets["m1"].active))
    assert mine <= set(task_ids(kept.active)) | set(task_ids(kept.standby))


@pytest.mark.parametrize("standby_count", [0, 1, 2, 5])
@pytest.mark.parametrize("processes", [(1,), (1, 1), (2, 1), (3, 3, 3), (1, 1, 1, 4)])
def test_no_process_has_a_task_twice(processes: tuple[int, ...], standby_count: int) -> None:
    group = members(*processes)
    targets = assign_sticky(group, {"0": 6, "1": 3}, ["0"], standby_count)
    copies: Counter[tuple[str, TaskId]] = Counter()
    of_task: Counter[TaskId] = Counter()
    for member in group:
        target = targets[member.member_id]
        for task in (*task_ids(target.active), *task_ids(target.standby)):
            copies[member.process_id, task] += 1
            of_task[task] += 1
        assert all(task[0] == "0" for task in task_ids(target.standby))
    assert set(copies.values()) == {1}
    wanted = min(1 + standby_count, len(processes))
    assert all(of_task[("0", i)] == wanted for i in range(6))
    assert all(of_task[("1", i)] == 1 for i in range(3))


@for_each(range(200))
def test_whatever_happens(seed: int) -> None:
    """Members come and go, topics grow: all tasks are always somebody's, once, and evenly."""
    chance = random.Random(seed)
    targets: dict[str, Tasks] = {}
    group: dict[str, str] = {}
    counts = {"0": chance.randint(1, 10)}
    for step in range(12):
        for _ in range(chance.randint(0, 3)):
            group[f"m{step}-{len(group)}"] = f"p{chance.randrange(4)}"
        for name in chance.sample(sorted(group), min(len(group), chance.randint(0, 2))):
            del group[name]
        if chance.random() < 0.3:
            counts[str(len(counts))] = chance.randint(1, 6)
        candidates = [
            StreamsCandidate(name, process, targets.get(name, Tasks()))
            for name, process in group.items()
        ]
        targets = assign_sticky(candidates, counts, ["0"], chance.randint(0, 2))
        assert targets.keys() == group.keys()
        if not group:
            continue
        assert set(actives(targets).values()) == {1}
        assert len(actives(targets)) == sum(counts.values())
        fair = -(-sum(counts.values()) // len(group))
        in_process: Counter[str] = Counter(group.values())
        tasks: Counter[str] = Counter()
        for name, load in ((n, len(list(task_ids(t.active)))) for n, t in targets.items()):
            tasks[group[name]] += load
        for process, count in in_process.items():
            assert tasks[process] <= (fair + 1) * count


def test_no_members_no_tasks() -> None:
    assert assign_sticky([], {"0": 3}, [], 1) == {}
    assert assign_sticky(members(2), {}, [], 1) == {"m0": Tasks(), "m1": Tasks()}
