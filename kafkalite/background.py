"""The work in the background: jobs that run every so often, in slices, so that requests go on.

Each job is a generator that yields after every small piece of work; when the pieces since the last
turn of the loop took longer than a slice, the others get theirs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

import trio

from kafkalite.log.cleaner import Cleaner, Throttle
from kafkalite.replica.flusher import Flusher, carry_out
from kafkalite.requests.disk_threads import in_disk_thread, in_thread
from kafkalite.requests.slices import SLICE_SECONDS, WaitingSteps, at_once, in_slices_of_task
from kafkalite.supervision import every, in_step, supervised
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.clock import Clock
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.log.manager import LogManager
    from kafkalite.replica.topics import Topics

Job = Callable[[], Iterator[object]]

# Longer waits than this make no difference (292 million years).
_FOREVER_SECONDS: Final = 1e9
# A segment that rolled is flushed after this time, whatever flush.ms says.
_LONGEST_FLUSH_SECONDS: Final = 10.0
# After this time an abandoned change goes on, the logs of a deleted topic are moved away, and the
# metadata tell of a data directory that failed.
_FINISH_SECONDS: Final = 0.2
# A log that could not be opened is tried again after this time.
_REOPEN_SECONDS: Final = 5.0
# A turn of an idle loop takes no longer than this.
_IDLE_TURN_SECONDS: Final = 0.0003
# Without a pause the cleaner would look for work, and find none, as often as the loop lets it.
_LEAST_BACKOFF_SECONDS: Final = 0.01
# At this interval the broker checks whether a snapshot of the metadata is due.
_SNAPSHOT_CHECK_SECONDS: Final = 1.0


class Background:
    """The jobs of one broker, and how often each is done."""

    def __init__(
        self,
        config: BrokerConfig,
        cluster: Cluster,
        topics: Topics,
        logs: LogManager,
        clock: Clock,
    ) -> None:
        self._config = config
        self._topics = topics
        self._cluster = cluster
        self._logs = logs
        self._clock = clock
        self._balanced_at = 0.0
        # Held by jobs that must not be done twice at a time: a jump in time does them, too.
        self._alone = trio.Lock()
        self._cleaner = Cleaner(
            self._logs.directories,
            dedupe_buffer_bytes=self._config.integer("log.cleaner.dedupe.buffer.size"),
        )
        self.flusher = Flusher(logs, topics)
        self._config.subscribe(self._configs_changed)

    def _configs_changed(self) -> None:
        self._cleaner.use_buffer(self._config.integer("log.cleaner.dedupe.buffer.size"))

    def start(self, nursery: trio.Nursery) -> None:
        """Start every job as a task; they end with the nursery."""
        self._balanced_at = self._clock.time()
        for interval, job in (
            ("log.retention.check.interval.ms", self._logs.retention),
            ("log.flush.offset.checkpoint.interval.ms", self._logs.checkpoint),
            ("replica.high.watermark.checkpoint.interval.ms", self._logs.checkpoint),
            ("producer.id.expiration.check.interval.ms", self._expire_producers),
        ):
            nursery.start_soon(supervised, interval, partial(self._every, interval, job))
        nursery.start_soon(supervised, "flushes", self.flusher.run)
        for name, seconds, work in (
            ("flush", self._flush_seconds(), self._flush),
            ("snapshot of the metadata", _SNAPSHOT_CHECK_SECONDS, self._snapshot_metadata),
            ("offline logs", _REOPEN_SECONDS, self._reopen),
            ("abandoned changes", _FINISH_SECONDS, self._finish_changes),
            ("failed data directories", _FINISH_SECONDS, self._lose_directories),
            ("deleted logs", _FINISH_SECONDS, self._move_deleted),
        ):
            nursery.start_soon(every, name, partial(float, seconds), work, in_step)
        if self._config.boolean("log.cleaner.enable"):
            nursery.start_soon(supervised, "cleaner", self._clean)
        if self._config.boolean("auto.leader.rebalance.enable"):
            nursery.start_soon(
                every,
                "leader balance",
                lambda: self._balance_seconds,
                self._balance_leaders,
            )

    async def _every(self, interval: str, job: Job) -> None:
        """Do a job for ever, at first after log.initial.task.delay.ms at most."""

        async def work() -> None:
            if not self._time_stands_still:
                await in_pieces(job())

        first = self._config.integer("log.initial.task.delay.ms") / 1000
        await trio.sleep(max(0.0, min(first, self._seconds(interval))))
        await work()
        await every(interval, partial(self._seconds, interval), work)

    @property
    def _time_stands_still(self) -> bool:
        """True while a test has the broker's clock stand still: nothing falls due then."""
        return math.isinf(self._clock.trio_deadline(0.0))

    def _flush_seconds(self) -> float:
        asked = self._seconds("log.flush.scheduler.interval.ms")
        return min(asked, _LONGEST_FLUSH_SECONDS) if asked > 0 else _LONGEST_FLUSH_SECONDS

    def _seconds(self, config: str) -> float:
        return min(self._config.integer(config) / 1000, _FOREVER_SECONDS)

    def _expire_producers(self) -> Iterator[object]:
        return self._logs.remove_expired_producers(
            self._config.integer("producer.id.expiration.ms")
        )

    async def _flush(self) -> None:
        """Flush what flush.ms asks for, and segments that rolled; in a thread, a disk takes its
        time."""
        async with self._alone:
            await in_pieces(self._logs.unlink_deleted())
            await self._flush_due()

    async def _flush_due(self) -> None:
        began = time.perf_counter()
        for flush in chain(self._logs.flushes_due(self._clock.now_ms()), self._logs.rolled()):
            if flush is not None:
                await carry_out(flush)
            elif time.perf_counter() - began > SLICE_SECONDS:
                await trio.lowlevel.checkpoint()
            else:
                continue
            began = time.perf_counter()

    async def _finish_changes(self) -> None:
        """Take changes of the metadata to their end whose requests ended with their
        connections."""
        await in_pieces(self._topics.changes.finish())
        await in_pieces(self._cluster.settling())

    async def _lose_directories(self) -> None:
        """Take the leaders from what lies in a data directory that has failed."""
        await in_slices_of_task(self._cluster.losing_directories())

    async def _move_deleted(self) -> None:
        """Move the logs of topics that were deleted out of the way."""
        await in_pieces(self._logs.move_deleted())

    async def _reopen(self) -> None:
        """Open the logs that could not be opened while the disk was full: there may be room by
        now."""
        await in_pieces(self._topics.reopen())

    def clean_now(self) -> None:
        """Retention and compaction of all logs at once. For tests: requests wait meanwhile."""
        at_once(self.cleaning_now())

    def cleaning_now(self) -> WaitingSteps[None]:
        """The same in steps.

        All records that are written so far count: compacted logs begin a new segment first, and
        neither `min.cleanable.dirty.ratio` nor any interval is waited for. Raises KafkaError.
        """
        for log in self._logs.logs:
            if log.offline_reason is None:
                log.cleaning = None  # a compaction that is under way stops
                if log.config.compact:
                    log.roll()
            yield None
        pieces = chain(self._logs.retention(), self._logs.retention(of_compacted=True))
        for piece in chain(pieces, (step.work for step in self._cleaner.clean_all())):
            yield cast("Callable[[], None]", piece) if callable(piece) else None

    async def catch_up(self) -> None:
        """Do now what the clock says is due: producers that expired, retention, compaction,
        flushes, checkpoints, the snapshot of the metadata; the balance of leaders after its
        interval."""
        await in_pieces(self._expire_producers())
        await in_pieces(self._logs.retention())
        if self._config.boolean("log.cleaner.enable"):
            while await self._clean_one():
                pass
            await in_pieces(self._logs.retention(of_compacted=True))
        await in_pieces(self._logs.checkpoint())
        for job in (self._flush, self._snapshot_metadata, self._balance_leaders):
            with suppress(KafkaError, OSError):  # a failing disk: the job's task says it, tries on
                await job()

    @property
    def _balance_seconds(self) -> float:
        return float(self._config.integer("leader.imbalance.check.interval.seconds"))

    async def _balance_leaders(self) -> None:
        """Let the preferred leaders lead, if it is time by the broker's clock."""
        is_wanted = self._config.boolean("auto.leader.rebalance.enable")
        if is_wanted and self._clock.time() - self._balanced_at >= self._balance_seconds:
            self._balanced_at = self._clock.time()
            await in_slices_of_task(self._cluster.balancing_leaders())

    async def _snapshot_metadata(self) -> None:
        """Write a snapshot of the metadata if one is due; in a thread, from what it is now."""
        async with self._alone:
            if self._cluster.is_snapshot_due:
                write = await in_slices_of_task(self._cluster.begin_snapshot())
                await in_thread(write)
                await in_slices_of_task(self._cluster.complete_snapshot())

    async def _clean(self) -> None:
        """Compact the logs that need it, one after the other; when all are compacted that a look
        at them has found comes the retention of the compacted ones."""
        while True:
            is_cleaned = False
            if not self._time_stands_still:
                is_cleaned = await self._clean_one()
                if not self._cleaner.has_more:
                    await in_pieces(self._logs.retention(of_compacted=True))
            if is_cleaned:
                await trio.lowlevel.checkpoint()
            else:  # also after a failure: a full disk is not asked again at once
                backoff = self._seconds("log.cleaner.backoff.ms")
                await trio.sleep(max(backoff, _LEAST_BACKOFF_SECONDS))

    async def _clean_one(self) -> bool:
        """Compact the log that needs it most; whether there was one."""
        throttle = Throttle(
            self._config.double("log.cleaner.io.max.bytes.per.second"), trio.current_time()
        )
        with closing(self._cleaner.clean()) as steps:
            began = time.perf_counter()
            while True:
                try:
                    step = next(steps)
                except StopIteration as done:
                    return bool(done.value)
                if step.work is not None:
                    await in_disk_thread(step.work)
                wait = throttle.wait_s(step.size_bytes, trio.current_time())
                worked = time.perf_counter() - began
                if wait or worked > SLICE_SECONDS:
                    await trio.sleep(wait)
                    if not wait and time.perf_counter() - began > worked + _IDLE_TURN_SECONDS:
                        # Others have work: they get as much time as the cleaner takes.
                        await trio.sleep(worked)
                    began = time.perf_counter()


async def in_pieces(work: Iterator[object]) -> None:
    """Do all the work, and let others in between its pieces.

    A piece that can be called waits for the disk: it is called in a thread.
    """
    began = time.perf_counter()
    for piece in work:
        if callable(piece):
            await in_disk_thread(piece)
            began = time.perf_counter()
        elif time.perf_counter() - began > SLICE_SECONDS:
            await trio.lowlevel.checkpoint()
            began = time.perf_counter()
