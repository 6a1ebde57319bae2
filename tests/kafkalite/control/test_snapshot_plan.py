"""A snapshot is of one moment, though others are served while it is planned and taken."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio

from kafkalite.control import snapshots
from kafkalite.control.problems import Problem
from kafkalite.control.snapshot_plan import Plan, planning
from kafkalite.control.snapshots import FilesGoneError, carry_out, put
from kafkalite.log.log import Log
from kafkalite.requests.slices import Steps, in_slices_of_task
from kafkalite.testing import broker
from tests.kafkalite.longest_turn import longest_turn


def log_of(k: broker, topic: str) -> Log:
    found = k._running.services.topics.get(topic)
    assert found is not None
    return found.partitions[0].log


def finished(steps: Steps[Plan]) -> Plan:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            plan: Plan = done.value
            return plan


async def restored(k: broker, plan: Plan, tmp_path: Path) -> None:
    """Have the cluster go on from a snapshot of this plan."""
    assert k._clusters is not None
    carry_out(plan, tmp_path / "made")
    put(tmp_path / "made", k._clusters._snapshots / "planned")
    await k.asynchronous.restore("planned")


async def test_what_comes_between_the_steps_is_of_the_same_moment(
    broker: broker, tmp_path: Path
) -> None:
    """An offset is committed after its record was written, and between any two steps."""
    k = broker.asynchronous
    for number in range(40):  # more than are looked at in the last turn
        broker.create_topic(f"t{number}")
    steps = planning(broker._running)
    written = 0
    plan = None
    while plan is None:
        try:
            next(steps)
        except StopIteration as done:
            plan = done.value
        else:
            await k.produce("t0", f"{written}")
            await k.produce("t39", f"{written}")
            written += 1
    await k.produce("t39", "later")
    assert written > 40
    await restored(broker, plan, tmp_path)
    for topic in ("t0", "t39"):
        records = await k.records(topic)
        assert [each.value for each in records] == list(map(str, range(written)))


async def test_logs_that_change_all_the_time_are_measured_at_the_moment(
    broker: broker, tmp_path: Path
) -> None:
    """They are not brought to rest: opening them reads what is not written down."""
    k = broker.asynchronous
    topics = [f"t{number}" for number in range(20)]
    for topic in topics:
        broker.create_topic(topic)
    steps = planning(broker._running)
    written = 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            plan = done.value
            break
        for topic in topics:
            await k.produce(topic, f"{written}")
        written += 1
    for topic in topics:
        await k.produce(topic, "later")
    await restored(broker, plan, tmp_path)
    for topic in topics:
        values = [each.value for each in await k.records(topic)]
        assert values == list(map(str, range(written)))


async def test_topics_that_come_and_go_between_the_steps(broker: broker, tmp_path: Path) -> None:
    k = broker.asynchronous
    for number in range(40):
        broker.create_topic(f"t{number}")
    steps = planning(broker._running)
    for _ in range(3):
        next(steps)
    await k.produce("t1", "v")
    await k.delete_topic("t0")
    await k.delete_topic("t2")
    broker.create_topic("t2")
    broker.create_topic("new")
    await k.produce("new", "v")
    await restored(broker, finished(steps), tmp_path)
    assert len(await k.records("new")) == len(await k.records("t1")) == 1
    assert await k.records("t2") == []
    with pytest.raises(Problem, match="no topic 't0'"):
        await k.records("t0")


async def test_segments_that_roll_between_the_steps_and_later(
    broker: broker, tmp_path: Path
) -> None:
    k = broker.asynchronous
    broker.create_topic("t")
    broker.create_topic("other", partitions=40)
    steps = planning(broker._running)
    next(steps)
    for value in range(3):
        await k.produce("t", f"{value}")
        await k.ask("topics.roll", topic="t")
    await k.produce("t", "3")
    plan = finished(steps)
    await k.ask("topics.roll", topic="t")
    await k.produce("t", "later")
    assert all(cut.has_its_files for cut in plan.cuts.values())
    await restored(broker, plan, tmp_path)
    assert [each.value for each in await k.records("t")] == ["0", "1", "2", "3"]
    await k.produce("t", "more")


async def test_files_that_go_after_the_moment_are_told(broker: broker, tmp_path: Path) -> None:
    k = broker.asynchronous
    broker.create_topic("t")
    for _ in range(2):
        await k.produce("t", "v")
        await k.ask("topics.roll", topic="t")
    plan = finished(planning(broker._running))
    assert all(cut.has_its_files for cut in plan.cuts.values())
    await k.lose("t", to=1)
    assert not all(cut.has_its_files for cut in plan.cuts.values())
    log_of(broker, "t").directory.rename(tmp_path / "elsewhere")
    with pytest.raises(FilesGoneError):
        carry_out(plan, tmp_path / "made")
    (tmp_path / "elsewhere").rename(log_of(broker, "t").directory)


async def test_a_snapshot_is_begun_anew_where_files_go(
    broker: broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log that lost segments while it was taken is taken as it is then."""
    k = broker.asynchronous
    broker.create_topic("t")
    for _ in range(3):
        await k.produce("t", "v")
        await k.ask("topics.roll", topic="t")
    losses = iter([1, 2])

    def losing(plan: Plan, made: Path) -> None:
        carry_out(plan, made)
        for to in losses:
            trio.from_thread.run(partial(k.lose, "t", to=to))
            break

    monkeypatch.setattr(snapshots, "carry_out", losing)
    await k.snapshot("s")
    await k.restore("s")
    assert [each.offset for each in await k.records("t")] == [2]


async def test_thousands_of_logs_are_looked_at_while_others_are_served(broker: broker) -> None:
    broker.create_topic("t", partitions=2000)
    with longest_turn() as turn:
        plan = await in_slices_of_task(planning(broker._running))
    assert len(plan.cuts) > 2000
    assert turn.seconds < 0.02
