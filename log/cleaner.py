"""The cleaner chooses the compacted log to clean next, and the part of it.

A log is due when enough of it is dirty (`min.cleanable.dirty.ratio`), or when a dirty record has
waited for `max.compaction.lag.ms`. Records stay uncleaned above the last stable offset, in the
active segment, and while they are younger than `min.compaction.lag.ms`. The end of each log's clean
part is kept in `cleaner-offset-checkpoint`.

`Cleaner.clean` is a generator. The broker's task goes through its steps, lets others go first every
few milliseconds, and runs `Step.work` in a thread. `Throttle` keeps to
`log.cleaner.io.max.bytes.per.second`. Source: Kafka's LogCleanerManager, LogCleaner, Throttler.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from math import inf
from time import monotonic
from typing import Final, NamedTuple

from kafkalite.log.checkpoints import TopicPartition
from kafkalite.log.config import FOREVER
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import Step
from kafkalite.log.log import Log
from kafkalite.log.loggers import logger_of
from kafkalite.log.segment import LogSegment
from kafkalite.wire.errors import KafkaError

_logger = logger_of(__name__)

# A key in the map costs the dict's slot, the bytes object, the int. (In Kafka 24 bytes.)
_BYTES_PER_KEY = 200
DEDUPE_BUFFER_BYTES = 134_217_728
# A checkpoint has all logs: while there are more to clean, it is written after this time. What it
# lacks after a crash is cleaned again.
_CHECKPOINT_SECONDS: Final = 1.0


class Cleanable(NamedTuple):
    """A log's dirty part: up to the first offset that may not be cleaned yet."""

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The dirty share of the bytes that a round would read, 0.0 to 1.0."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        return self.cleanable_bytes > 0 and (
            self.is_overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio
        )


class Cleaner:
    """Cleans the compacted logs of some data directories."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        *,
        dedupe_buffer_bytes: int = DEDUPE_BUFFER_BYTES,
    ) -> None:
        self._directories = list(directories)
        self.use_buffer(dedupe_buffer_bytes)
        # Damaged logs, which are not cleaned any more.
        self.uncleanable: set[TopicPartition] = set()
        # The logs that the last look found to be due: (ratio, log), the most needy last.
        self._due: list[tuple[float, TopicPartition]] = []
        self._written_at = -inf

    def use_buffer(self, dedupe_buffer_bytes: int) -> None:
        """Set the memory for keys, in bytes, from the next log on."""
        self._max_keys = max(1, dedupe_buffer_bytes // _BYTES_PER_KEY)

    def _all_cleanable(self) -> Iterator[Cleanable | None]:
        """The dirty part of each log, a log a step; None for a log without one, or not known
        yet."""
        for directory in self._directories:
            if directory.failure is not None:
                continue
            for key in list(directory.logs):
                log = directory.logs.get(key)
                if log is not None:
                    yield from self._cleanable(log, directory)

    def _cleanable(self, log: Log, directory: LogDirectory) -> Iterator[Cleanable | None]:
        key = (log.topic, log.partition)
        if log.config.compact and key not in self.uncleanable:
            clean_up_to = directory.cleaned_up_to.get(key)
            try:
                for _ in _times_read(log, clean_up_to):
                    yield None
                if log.cleaning is None and log.offline_reason is None:
                    yield cleanable_part(log, clean_up_to)
            except (OSError, KafkaError) as error:
                self._failed(log, error)
        yield None

    def _failed(self, log: Log, error: OSError | KafkaError) -> None:
        """Leave a log out from now on: its disk fails, or it is damaged."""
        if isinstance(error, OSError):
            log.storage_error(error)
        elif log.offline_reason is None:
            _logger.error("%s: not cleaned any more: %s", log.name, error)
            self.uncleanable.add((log.topic, log.partition))

    @property
    def has_more(self) -> bool:
        """True if the last look at all logs found more that are due."""
        return bool(self._due)

    def clean(self) -> Generator[Step, None, bool]:
        """Clean the log that needs it most, step by step; True if one was cleaned.

        A look at all logs chooses it, and those that come after it: thousands are not looked at
        again for each of them.
        """
        if not self._due:
            for each in self._all_cleanable():
                yield Step(0, None)
                if each is not None and each.is_due:
                    self._due.append((each.ratio, (each.log.topic, each.log.partition)))
            self._due.sort()
        while self._due:
            _, key = self._due.pop()
            chosen = yield from self._looked_at(key)
            if chosen is not None and chosen.is_due:
                is_cleaned = yield from self._clean(chosen)
                if not self._due or monotonic() - self._written_at > _CHECKPOINT_SECONDS:
                    yield from self._write_checkpoints()
                return is_cleaned
        yield from self._write_checkpoints()
        return False

    def clean_all(self) -> Iterator[Step]:
        """Clean all logs, due or not, as long as they have a dirty part."""
        for directory in self._directories:
            for key in list(directory.logs):
                is_cleaned = True
                while is_cleaned:
                    chosen = yield from self._looked_at(key)
                    is_cleaned = chosen is not None and chosen.cleanable_bytes > 0
                    if chosen is not None and is_cleaned:
                        is_cleaned = yield from self._clean(chosen)
        yield from self._write_checkpoints()

    def _looked_at(self, key: TopicPartition) -> Generator[Step, None, Cleanable | None]:
        """The dirty part of one log as it is now, if it has one."""
        found: Cleanable | None = None
        for directory in self._directories:
            log = directory.logs.get(key)
            if log is not None and directory.failure is None:
                for each in self._cleanable(log, directory):
                    yield Step(0, None)
                    found = each or found
        return found

    def _clean(self, cleanable: Cleanable) -> Generator[Step, None, bool]:
        from kafkalite.log.compaction import CleaningAborted, Compaction  # not at a start

        log = cleanable.log
        key = (log.topic, log.partition)
        try:
            end_offset = yield from Compaction(
                log,
                cleanable.first_dirty_offset,
                cleanable.first_uncleanable_offset,
                self._max_keys,
            ).run()
            for directory in self._directories:
                if directory.logs.get(key) is log:
                    directory.cleaned_up_to[key] = end_offset
            return True
        except CleaningAborted:
            _logger.info("%s: truncated or deleted while it was cleaned", log.name)
        except (OSError, KafkaError) as error:
            self._failed(log, error)
            # A damaged or offline log is not tried again: the next one may be cleaned at once.
            is_left_alone = (log.topic, log.partition) in self.uncleanable
            return is_left_alone or log.offline_reason is not None
        return False

    def _write_checkpoints(self) -> Iterator[Step]:
        for directory in self._directories:
            if directory.failure is None:
                for wait in directory.keeping_cleaned():
                    yield Step(0, wait)
        self._written_at = monotonic()


def cleanable_part(log: Log, clean_up_to: int | None) -> Cleanable:
    """The part of `log` that may be cleaned, given where its clean part ends.

    None: the log was never cleaned. Raises KafkaError, OSError.
    """
    now_ms = log.now_ms()
    first_dirty = log.log_start_offset if clean_up_to is None else clean_up_to
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset  # truncated, or records deleted
    segments = list(log.segments)
    base_offsets = log.segments.base_offsets
    active_index = len(segments) - 1
    dirty = segments[max(0, bisect_right(base_offsets, first_dirty) - 1) : active_index]
    limits = [log.last_stable_offset, segments[active_index].base_offset]
    if log.config.min_compaction_lag_ms > 0:
        youngest_ms = now_ms - log.config.min_compaction_lag_ms
        young = (s.base_offset for s in dirty if s.largest_or_modified_ms() > youngest_ms)
        limits += list(islice(young, 1))
    uncleanable = max(first_dirty, min(limits))
    # Only whole segments are cleaned.
    end_index = min(max(0, bisect_right(base_offsets, uncleanable) - 1), active_index)
    end = base_offsets[end_index]
    begin_index = max(0, bisect_right(base_offsets, min(first_dirty, end)) - 1)
    clean = segments[: min(bisect_left(base_offsets, first_dirty), active_index)]
    return Cleanable(
        log,
        first_dirty,
        end,
        clean_bytes=sum([s.size for s in clean]),
        cleanable_bytes=sum([s.size for s in segments[begin_index:end_index]]),
        is_overdue=_is_overdue(log, dirty, now_ms),
    )


def _times_read(log: Log, clean_up_to: int | None) -> Iterator[None]:
    """Have the times that `cleanable_part` goes by in memory, a segment a step. Raises as it."""
    config = log.config
    if config.min_compaction_lag_ms <= 0 and config.max_compaction_lag_ms == FOREVER:
        return
    for segment in log.segments.since(clean_up_to or 0)[:-1]:
        if log.cleaning is not None or log.offline_reason is not None:
            return
        if config.min_compaction_lag_ms > 0:
            segment.largest_or_modified_ms()
        if config.max_compaction_lag_ms != FOREVER and segment.size:
            _ = segment.first_timestamp
        yield


def _is_overdue(log: Log, dirty: Sequence[LogSegment], now_ms: int) -> bool:
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms == FOREVER:
        return False
    before_ms = now_ms - max(lag_ms, 0)
    return any(0 < segment.first_timestamp < before_ms for segment in dirty if segment.size)


class Throttle:
    """Keeps reading and writing within so many bytes a second."""

    def __init__(self, max_bytes_per_second: float, now: float) -> None:
        self._max_bytes_per_second = max_bytes_per_second
        self._since = now
        self._bytes = 0

    def wait_s(self, size_bytes: int, now: float) -> float:
        """Seconds to wait after moving `size_bytes`, at time `now` in seconds."""
        self._bytes += size_bytes
        wait = self._since + self._bytes / self._max_bytes_per_second - now
        if now - self._since > 1.0 and wait <= 0:  # what was not used is not saved up
            self._since, self._bytes = now, 0
        return max(wait, 0.0)
