"""Flushes that appends ask for (`flush.messages`), in threads, so that the loop waits for no disk.

Each log is flushed by one task at a time. What is appended meanwhile is covered by the next flush,
however many appends that is. The answer to an append waits: a Produce for its partitions, any other
request in the flush gate (server/flush_gate.py). Source: UnifiedLog.append.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import trio

from kafkalite.log import flushing
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.purgatory import Watchers, wait_until
from kafkalite.supervision import supervised
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.log.flushing import Flush
    from kafkalite.log.log_state import LogState
    from kafkalite.log.manager import LogManager
    from kafkalite.replica.topics import Topics


class Flusher:
    """Flushes the logs of a manager, and tells their partitions of the end of every flush."""

    def __init__(self, logs: LogManager, topics: Topics) -> None:
        self._logs = logs
        self._topics = topics
        self._due: dict[LogState, None] = {}
        self._running: set[LogState] = set()
        self._asked = trio.Event()
        self._watchers = Watchers()
        # Counts the appends that asked for a flush.
        self.asked_count = 0
        for directory in logs.directories:
            directory.flush_requests.ended = self._ended

    async def run(self) -> None:
        """Flush what appends ask for, for ever. Before and after, appends flush by themselves."""
        async with trio.open_nursery() as nursery:
            self._hand_over(is_running=True)
            try:
                while True:
                    await self._asked.wait()
                    self._asked = trio.Event()
                    due, self._due = self._due, {}
                    for log in due:
                        self._running.add(log)
                        nursery.start_soon(
                            supervised, f"flush of {log.name}", partial(self._flush, log)
                        )
            finally:
                self._hand_over(is_running=False)

    def _hand_over(self, *, is_running: bool) -> None:
        for directory in self._logs.directories:
            directory.flush_requests.later = self._ask if is_running else None

    def _ask(self, log: LogState) -> None:
        self.asked_count += 1
        if log not in self._running:
            self._due[log] = None
            self._asked.set()

    async def _flush(self, log: LogState) -> None:
        """Flush a log until nothing asks for it any more, or the disk fails."""
        try:
            while log.awaits_flush and await _flushed(log):
                pass
        finally:
            self._running.discard(log)
            self._ended(log)

    def _ended(self, log: LogState) -> None:
        topic = self._topics.get(log.topic)
        if topic is not None and log.partition < len(topic.partitions):
            partition = topic.partitions[log.partition]
            if partition.log is log:
                partition.look_again()
        self._watchers.check_and_complete()

    @property
    def unsettled(self) -> Collection[LogState]:
        """The logs that are being flushed, or will be."""
        return self._due.keys() | self._running

    async def settled(self, logs: Collection[LogState]) -> bool:
        """Wait until what these logs hold now is on the disk; False if it may never be.

        To be awaited in a task.
        """
        waiting = [(log, log.log_end_offset, log.failed_flush_count) for log in logs]

        def is_over(log: LogState, end: int, failures: int) -> bool:
            is_flushed = log.recovery_point >= min(end, log.log_end_offset)
            return is_flushed or log.failed_flush_count != failures or not self._works_on(log)

        await wait_until(lambda: all(is_over(*each) for each in waiting), [self._watchers], inf)
        return all(
            log.failed_flush_count == failures and log.offline_reason is None
            for log, _, failures in waiting
        )

    def _works_on(self, log: LogState) -> bool:
        return log in self._due or log in self._running


async def _flushed(log: LogState) -> bool:
    """Flush a log; False if the disk fails, which is said."""
    try:
        flush = flushing.begin_flush(log, None)
    except KafkaError:
        return False
    return flush is None or await carry_out(flush)


async def carry_out(flush: Flush) -> bool:
    """Run a flush in a thread, and complete it; False if the disk fails, which is said."""
    try:
        if flush.waits_for_disk:
            await in_disk_thread(flush.run)
        else:
            flush.run()
    except OSError as error:
        flush.fail(error)
        return False
    except BaseException:
        flush.abandon()
        raise
    flush.complete()
    return True
