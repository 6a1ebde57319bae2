"""Tasks in the background that outlive their errors.

Every task that a broker starts for itself runs under `supervised` or is made of `every`: an error
ends its turn, is said once, and the task goes on. Nothing that happens in the background ends the
process. `tests/kafkalite/test_supervision.py` finds each task and checks that it is so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.log.said_once import SaidOnce

logger = logger_of(__name__)

# Until a task that failed runs again.
RESTART_SECONDS: Final = 1.0
# A multiple of an interval may be rounded down: it is over, all the same.
_ROUNDED: Final = 1e-6


async def supervised(name: str, run: Callable[[], Awaitable[object]]) -> None:
    """Run a task until it ends by itself; after an error, again.

    Args:
        name: for the log.
        run: to be called again after an error.
    """
    trouble = SaidOnce(name, logger)
    trio.lowlevel.current_task().name = name  # shown where tasks are listed
    while True:
        try:
            await run()
        except Exception as error:  # noqa: BLE001 - said, and tried again
            trouble.failed(error)
        else:
            return
        await trio.sleep(RESTART_SECONDS)


async def in_step(seconds: float) -> None:
    """Sleep until the next multiple of so many seconds, by trio's clock.

    Jobs that are due at the same time wake up an idle process once.
    """
    count = int(trio.current_time() / seconds + _ROUNDED) + 1
    await trio.sleep_until(count * seconds)


async def every(
    name: str,
    seconds: Callable[[], float],
    work: Callable[[], Awaitable[None] | None],
    sleep: Callable[[float], Awaitable[None]] = trio.sleep,
) -> None:
    """Do `work` every so often, for ever; what goes wrong ends its turn.

    It ends with an interval that is not positive: Kafka's scheduler repeats no such job.
    """
    trouble = SaidOnce(name, logger)
    trio.lowlevel.current_task().name = name
    while (interval_seconds := seconds()) > 0:
        await sleep(interval_seconds)
        try:
            pause = work()
            if pause is not None:
                await pause
        except Exception as error:  # noqa: BLE001 - said, and tried again
            trouble.failed(error, interval_seconds)


class _Started:
    """Told that a service has started, as often as that is: the caller hears of it once."""

    def __init__(self, task_status: trio.TaskStatus[None]) -> None:
        self._task_status = task_status
        self.is_started = False

    def started(self, value: None = None) -> None:
        if not self.is_started:
            self.is_started = True
            self._task_status.started()


async def supervised_service(
    name: str,
    run: Callable[..., Awaitable[None]],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """`supervised` for `nursery.start`: an error before `run` has started is the caller's."""
    started = _Started(task_status)
    trouble = SaidOnce(name, logger)
    while True:
        try:
            await run(task_status=started)
        except Exception as error:
            if not started.is_started:
                raise
            trouble.failed(error)
        else:
            return
        await trio.sleep(RESTART_SECONDS)
