"""The work in the background: what is done every so often, in slices that hold nobody up.

Each job is a generator that yields after every small piece of work; when the pieces since the last
turn of the loop took longer than a slice, the others get theirs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.broker import Broker

logger = logging.getLogger(__name__)

Job = Callable[[], Iterator[object]]

# Requests wait at most about this long for a job.
_SLICE_SECONDS: Final = 0.01
# How long anything that is longer than this is waited for makes no difference (292 million years).
_FOREVER_SECONDS: Final = 1e9


class Background:
    """The jobs of one broker, and how often each is done."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._config = broker.config
        self._logs = broker.logs.manager

    def start(self, nursery: trio.Nursery) -> None:
        """Start every job as a task; they end with the nursery."""
        for interval, job in (
            ("log.retention.check.interval.ms", self._logs.retention),
            ("log.flush.offset.checkpoint.interval.ms", self._checkpoint),
            ("replica.high.watermark.checkpoint.interval.ms", self._checkpoint),
            ("producer.id.expiration.check.interval.ms", self._expire_producers),
        ):
            nursery.start_soon(self._every, interval, job)
        nursery.start_soon(self._flush)

    async def _every(self, interval: str, job: Job) -> None:
        """Do a job for ever. An error ends its turn, not the job."""
        first = self._config.integer("log.initial.task.delay.ms") / 1000
        await trio.sleep(min(first, self._seconds(interval)))
        while True:
            try:
                await in_slices(job())
            except (OSError, KafkaError) as error:
                logger.error("%s: %s", interval, error)
            await trio.sleep(self._seconds(interval))

    def _seconds(self, config: str) -> float:
        return min(self._config.integer(config) / 1000, _FOREVER_SECONDS)

    def _checkpoint(self) -> Iterator[object]:
        self._logs.checkpoint()
        yield None

    def _expire_producers(self) -> Iterator[object]:
        return self._logs.remove_expired_producers(
            self._config.integer("producer.id.expiration.ms")
        )

    async def _flush(self) -> None:
        """Flush what flush.ms asks for; in a thread, since a disk takes its time."""
        while True:
            await trio.sleep(self._seconds("log.flush.scheduler.interval.ms"))
            for flush in self._logs.flushes_due(self._broker.now_ms()):
                try:
                    await trio.to_thread.run_sync(flush.run)
                except OSError as error:
                    flush.abandon()
                    logger.error("flush: %s", error)
                else:
                    flush.complete()


async def in_slices(work: Iterator[object]) -> None:
    """Do all the work, and let others in between its pieces."""
    began = time.perf_counter()
    for _ in work:
        if time.perf_counter() - began > _SLICE_SECONDS:
            await trio.lowlevel.checkpoint()
            began = time.perf_counter()
