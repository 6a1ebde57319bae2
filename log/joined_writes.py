"""Small appends of a turn are written together: one write for a log, and not one for each batch.

A broker answers the requests of many connections, and then sends the responses. In between a log
may keep what it appends in memory. `settle` writes it, before a response is sent, and before
anything but such an append looks at a log. If the disk fails then, the log is as it was before the
first of these batches, and the requests that appended them are refused.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkalite.log.growing_segment import GrowingSegment, SegmentState
from kafkalite.log.producer_entry import ProducerEntry

if TYPE_CHECKING:
    from kafkalite.log.log_state import LogState

# To copy a larger batch once more costs as much as its own write.
_MOST_BYTES: Final = 8192


class UnwrittenRequest(Protocol):
    """A request whose batches are not written yet."""

    def responded(
        self,
        connection: Any,
        chunks: list[Any],
        codec: Any,
        correlation_id: int,
        response: Any,
    ) -> None:
        """Its response was made, and waits to be sent."""
        ...

    def refuse(self, failed: Sequence[LogState]) -> None:
        """Let its response say that these logs took nothing."""
        ...


class JoinedWrites:
    """The logs that have something to be written, and the requests that wait for it."""

    __slots__ = ("_logs", "_requests", "is_open", "latest")

    def __init__(self) -> None:
        # True while appends may be kept.
        self.is_open = False
        # The request that was added last, for those who answer it.
        self.latest: UnwrittenRequest | None = None
        self._logs: list[LogState] = []
        self._requests: list[UnwrittenRequest] = []

    def __len__(self) -> int:
        """The number of logs that have something to be written."""
        return len(self._logs)

    def append(self, log: LogState, segment: GrowingSegment, batch: bytes) -> None:
        """Keep a batch, which the caller appends. Raises OSError: the log takes nothing now."""
        unwritten = log.unwritten
        if unwritten is None:
            log.unwritten = unwritten = Unwritten(log, segment)
            self._logs.append(log)
        elif unwritten.error is not None:
            raise unwritten.error
        unwritten.chunks.append(batch)

    def add(self, request: UnwrittenRequest) -> None:
        """Let a request know if what it appended cannot be written."""
        self._requests.append(request)
        self.latest = request

    def settle(self) -> None:
        """Write everything, or refuse the requests that appended what cannot be written."""
        if not (self._logs or self._requests):
            return
        logs, self._logs = self._logs, []
        requests, self._requests = self._requests, []
        self.latest = None
        failed = [log for log in logs if not _settle(log)]
        if failed:
            for request in requests:
                request.refuse(failed)


class Unwritten:
    """Batches at the end of a log that are in memory only, and the log as it was before them."""

    __slots__ = (
        "_end_offset",
        "_high_watermark",
        "_log",
        "_producers",
        "_segment",
        "_state",
        "chunks",
        "error",
    )

    def __init__(self, log: LogState, segment: GrowingSegment) -> None:
        """Raises OSError: the segment's file cannot be made."""
        segment.ensure_file()
        self._log = log
        self._segment = segment
        self._state: SegmentState = segment.state
        self._end_offset = log.log_end_offset
        self._high_watermark = log.high_watermark
        # Producers as they were, by id. None: there was none.
        self._producers: dict[int, ProducerEntry | None] | None = None
        self.chunks: list[bytes] = []
        # The disk's error. The log takes nothing more until those who appended know.
        self.error: OSError | None = None

    def keep_producer(self, producer_id: int) -> None:
        """Keep a producer as it is before its batch is noted."""
        if self._producers is None:
            self._producers = {}
        if producer_id not in self._producers:
            entry = self._log.producer_state.producers.get(producer_id)
            self._producers[producer_id] = None if entry is None else entry.copy()

    def write(self) -> None:
        """Write the batches, once. Raises OSError: the log is as it was before them."""
        if self.error is None and self._log.offline_reason is not None:
            self.error = OSError(errno.EIO, self._log.offline_reason)
        if self.error is not None:
            raise self.error
        chunks, self.chunks = self.chunks, []
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        try:
            self._segment.file.write(data, self._state[0])
        except OSError as error:
            self.error = error
            self._take_back()
            raise

    def _take_back(self) -> None:
        log, offset = self._log, self._end_offset
        self._segment.take_back(self._state, offset)
        log.log_end_offset = offset
        log.high_watermark = min(log.high_watermark, self._high_watermark)
        log.producer_state.take_back(self._producers or {}, offset)
        log.update_first_unstable()


def may_be_joined(log: LogState, segment: GrowingSegment, size: int) -> bool:
    """True if a batch of this size may be written with others, if there are any."""
    return (
        size <= _MOST_BYTES
        and log.config.joins_writes
        and not segment.has_ahead
        and not log.files.counts_writes
    )


def write_first(log: LogState) -> None:
    """Write what a log has kept, before it is changed otherwise.

    Raises OSError: the log is as it was before that, and takes nothing now.
    """
    if log.unwritten is not None:
        log.unwritten.write()
        log.unwritten = None


def _settle(log: LogState) -> bool:
    """Write what a log has kept; False if the disk fails, or has failed since."""
    unwritten = log.unwritten
    if unwritten is None:
        return True
    is_news = unwritten.error is None
    try:
        write_first(log)
    except OSError as error:
        log.unwritten = None
        if is_news and log.offline_reason is None:
            log.storage_error(error)
        return False
    return True
