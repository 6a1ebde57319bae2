"""Supervised tasks outlive their errors, and every task of a broker is supervised."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

import kafkalite
from kafkalite.supervision import every, in_step, supervised, supervised_service
from kafkalite.testing import broker as test_broker

ROOT = Path(kafkalite.__file__).parent
TESTS = Path(__file__).parents[1]
SUPERVISED = {"supervised", "supervised_service", "every"}
# Tasks that may end as they like, and why.
EXCEPTIONS = {
    "client/calls.py: do": "what it raises goes to the thread that has asked for it",
    "broker.py: self._connections.listen": "holds the listeners' tasks, each of which is told here",
    "broker.py: self._connections.serve": "the loop itself: each connection is guarded by its own",
    "broker.py: self._connections.close_idle": "touches no disk, and closes guarded connections",
    "metrics/endpoint.py: watch": "under the endpoint's own supervised task",
    "metrics/endpoint.py: metrics_server(self._render, self._is_ready).serve": "the same",
    "quorum/membership.py: give_up": "waits for an event, and cancels",
    "quorum_broker.py: membership.run": "holds tasks that are supervised",
    "coordinators/transaction_coordinator/marker_channels.py: self._mark": (
        "part of a task that runs under `supervised`, which begins again with what is missing"
    ),
    "coordinators/latest_offsets.py: self._ask": "part of a request, which waits for it",
    "coordinators/unstored.py: ask": "the same",
    "quorum_broker.py: self._live": "says why the process ends",
    "quorum_broker.py: wait_for": "waits for an event",
    "quorum_broker.py: self.replicas.run": "holds tasks that are supervised",
    "quorum_broker.py: self._serve_clients": "holds tasks that are supervised or guarded",
    "replication/replicas.py: self._fetch": "runs the fetcher under `supervised`",
    "server/http.py: _until_hung_up": "ends with its request's answer, and only cancels it",
    "server/connections.py: self.accept": "each connection is guarded by its own",
    "server/connections.py: _close_later": "waits, and closes a connection",
    "server/connections.py: function": "hands out what starts a connection's task",
    "__main__.py: stop_on_signals": "ends the process: that is what it is for",
    "__main__.py: broker.serve": "the broker itself",
}
EACH = "test_a_job_outlives_each_of_its_operations"
LOG, METADATA = "log/test_failing_jobs.py", "kafkalite/cluster/test_failing_metadata.py"
COORDINATORS, DISK = "kafkalite/test_failing_coordinators.py", "kafkalite/test_failing_disk.py"
TOKENS = "kafkalite/test_failing_tokens.py"
# The test in which the disk fails while a job runs, and the job's name there.
FAILING_DISKS = {
    "abandoned changes": (METADATA, EACH, "abandoned change"),
    "cleaner": (LOG, EACH, "cleaner"),
    "delegation tokens": (TOKENS, "test_the_end_of_tokens_outlives_each_of_its_operations", ""),
    "deleted logs": (LOG, EACH, "deletion"),
    "failed data directories": (
        "kafkalite/test_failed_directories.py",
        "test_the_loss_of_a_directory_outlives_each_of_its_operations",
        "",
    ),
    "flush": (LOG, EACH, "flush"),
    "flushes": (
        "kafkalite/replica/test_flusher.py",
        "test_an_append_whose_flush_fails_is_refused",
        "",
    ),
    "leader balance": (METADATA, EACH, "leader balance"),
    "loading of coordinators": (
        "kafkalite/coordinators/test_coordinator_log.py",
        "test_a_log_that_cannot_be_read_does_not_keep_others_from_loading",
        "",
    ),
    "log.flush.offset.checkpoint.interval.ms": (LOG, EACH, "checkpoint"),
    "log.retention.check.interval.ms": (LOG, EACH, "retention"),
    "many share states": (COORDINATORS, "test_many_share_states_outlive_a_full_disk", ""),
    "metrics": (COORDINATORS, "test_metrics_are_there_while_no_disk_works", ""),
    "offline logs": (DISK, "test_the_opening_of_offline_logs_outlives_each_of_its_operations", ""),
    "producer.id.expiration.check.interval.ms": (LOG, EACH, "producers"),
    "replica moves": (LOG, EACH, "move"),
    "replica.high.watermark.checkpoint.interval.ms": (LOG, EACH, "checkpoint"),
    "share groups": (COORDINATORS, EACH, "share states"),
    "snapshot of the metadata": (METADATA, EACH, "snapshot"),
    "transaction markers": (COORDINATORS, EACH, "markers"),
    "transaction timeouts": (COORDINATORS, EACH, "transaction"),
    # Not tasks of their own.
    "group coordinator: sessions": (COORDINATORS, EACH, "session"),
    "group coordinator: expired offsets": (COORDINATORS, EACH, "offsets"),
    "transaction coordinator: idle ids": (COORDINATORS, EACH, "identity"),
    "flush: segments whose time has come": (LOG, EACH, "unlinking"),
    "metrics that clients push": (
        COORDINATORS,
        "test_clients_push_metrics_while_no_disk_works",
        "",
    ),
}
# Rooms whose tasks belong to a client's process, or to a test.
OUTSIDE = ("spark", "testing.py", "pytest_plugin.py", "control")


def starts() -> Iterator[tuple[str, str]]:
    """The place at which a task is started, and the task."""
    for path in _sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(OUTSIDE):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            if isinstance(function, ast.Attribute) and (
                function.attr == "start_soon"
                or (function.attr == "start" and "nursery" in ast.unparse(function.value))
            ):
                yield name, ast.unparse(node.args[0])
            for keyword in node.keywords:
                if isinstance(keyword.value, ast.Attribute) and keyword.value.attr == "start_soon":
                    yield name, ast.unparse(keyword.value)


def _sources() -> list[Path]:
    rooms = [ROOT, *(each for each in ROOT.iterdir() if each.is_dir())]
    return sorted({path for room in rooms for path in room.rglob("*.py")})


@pytest.mark.slow
def test_every_task_is_supervised() -> None:
    found = [f"{name}: {started}" for name, started in starts() if started not in SUPERVISED]
    assert sorted(set(found) - set(EXCEPTIONS)) == []
    assert len(list(starts())) > 15


def jobs_under(task: trio.lowlevel.Task) -> Iterator[str]:
    """The names that supervised tasks gave themselves."""
    # A fetcher's task awaits `supervised`, and looks whether it is needed any more.
    is_job = getattr(task.coro, "__name__", "") in {*SUPERVISED, "_fetch"}
    if is_job and not task.name.startswith("kafkalite."):
        yield task.name
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from jobs_under(child)


async def test_each_job_has_a_test_with_a_failing_disk() -> None:
    config = {"delegation.token.secret.key": "a secret", "kafkalite.metrics.port": 0}
    async with test_broker(config):
        await trio.sleep(0.1)  # they name themselves when they run
        root = trio.lowlevel.current_root_task()
        assert root is not None
        jobs = set(jobs_under(root))
    others = {each for each in FAILING_DISKS if ":" in each} | {"metrics that clients push"}
    assert jobs == FAILING_DISKS.keys() - others
    for path, function, job in FAILING_DISKS.values():
        text = (TESTS / path).read_text()
        assert f"def {function}(" in text
        assert f'"{job}": ' in text or not job


async def test_a_task_that_fails_runs_again(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    turns: list[float] = []

    async def run() -> None:
        turns.append(trio.current_time())
        if len(turns) < 4:
            raise OSError("the disk is full")

    await supervised("a job", run)
    assert [round(turn - turns[0]) for turn in turns] == [0, 1, 2, 3]
    assert caplog.messages == ["a job: the disk is full"]


async def test_what_is_no_fault_of_a_disk_is_said_with_its_place(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    has_failed = False

    async def run() -> None:
        nonlocal has_failed
        if not has_failed:
            has_failed = True
            raise ValueError("a mistake")

    await supervised("a job", run)
    assert "ValueError: a mistake" in caplog.text
    assert "Traceback" in caplog.text


async def test_work_done_every_so_often_goes_on_after_an_error(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    turns: list[float] = []

    def work() -> None:
        turns.append(trio.current_time())
        raise OSError("the disk is full")

    with trio.move_on_after(35):
        await every("a job", lambda: 10.0, work)
    assert len(turns) == 3
    assert [each.levelno for each in caplog.records] == [logging.ERROR]


async def test_jobs_in_step_wake_up_at_the_same_times(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns: list[tuple[float, str]] = []

    def job(name: str) -> Callable[[], None]:
        return lambda: turns.append((round(trio.current_time(), 6), name))

    with trio.move_on_after(70):
        async with trio.open_nursery() as nursery:
            for name, seconds in (("short", 0.2), ("long", 1.0)):
                nursery.start_soon(every, name, partial(float, seconds), job(name), in_step)
                await trio.sleep(0.07)
    short, long = ([when for when, name in turns if name == each] for each in ("short", "long"))
    assert short == [round(0.2 * number, 6) for number in range(1, 350)]
    assert set(long) < set(short)
    assert len(long) == 69


async def test_a_service_that_cannot_start_says_so_to_who_starts_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def never(*, task_status: trio.TaskStatus[None]) -> None:
        raise OSError("nothing there")

    with pytest.raises(ExceptionGroup):
        async with trio.open_nursery() as nursery:
            await nursery.start(supervised_service, "a service", never)


async def test_a_service_that_fails_later_starts_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    turns = 0

    async def run(*, task_status: trio.TaskStatus[None]) -> None:
        nonlocal turns
        turns += 1
        task_status.started()
        await trio.sleep(1)
        if turns < 3:
            raise OSError("the disk is full")

    async with trio.open_nursery() as nursery:
        await nursery.start(supervised_service, "a service", run)
    assert turns == 3
