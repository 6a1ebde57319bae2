"""Lines name the cluster of the task, or of the connection that has its turn."""

from __future__ import annotations

from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkalite.log.loggers import lines_about, lines_are_about, lines_are_of_turns, logger_of

logger = logger_of("kafkalite.tests.loggers")


def test_a_line_begins_with_the_name_of_its_cluster(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("none of %d", 2)
    with lines_about("50%s"):
        logger.warning("one of %d", 2)
        logger.warning("100%")
        with lines_about("t-2"):
            logger.warning("another")
    logger.warning("none")
    assert caplog.messages == ["none of 2", "50%s: one of 2", "50%s: 100%", "t-2: another", "none"]
    assert [getattr(each, "cluster", "") for each in caplog.records] == [
        "",
        "50%s",
        "50%s",
        "t-2",
        "",
    ]


def test_a_line_is_named_once_however_often_its_logger_is_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with lines_about("t-1"):
        logger_of("kafkalite.tests.loggers").warning("a line")
    assert caplog.messages == ["t-1: a line"]


async def test_tasks_have_the_cluster_of_those_that_start_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def say(text: str) -> None:
        logger.warning(text)
        await trio.to_thread.run_sync(logger.warning, f"{text} in a thread")

    async def serve(cluster: str, nursery: trio.Nursery) -> None:
        lines_are_about(cluster)
        await trio.lowlevel.checkpoint()
        nursery.start_soon(say, cluster)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, "t-1", nursery)
        nursery.start_soon(serve, "t-2", nursery)
    logger.warning("none")
    assert sorted(caplog.messages) == [
        "none",
        "t-1: t-1",
        "t-1: t-1 in a thread",
        "t-2: t-2",
        "t-2: t-2 in a thread",
    ]


def test_a_turn_is_about_the_connection_that_has_it(caplog: pytest.LogCaptureFixture) -> None:
    turns: Any = SimpleNamespace(serving=SimpleNamespace(cluster="t-1"))
    lines_are_of_turns(turns)
    try:
        with lines_about("t-2"):
            logger.warning("in a turn")
            turns.serving = object()
            logger.warning("of what belongs to none")
            turns.serving = SimpleNamespace(cluster="t-1")
            thread = Thread(target=logger.warning, args=("in a thread",))
            thread.start()
            thread.join()
            turns.serving = None
            logger.warning("in a task")
    finally:
        lines_are_of_turns(None)
    assert caplog.messages == [
        "t-1: in a turn",
        "of what belongs to none",
        "in a thread",
        "t-2: in a task",
    ]
