"""A compacted segment takes the place of those it was made from.

Neighbours that are small enough together become one segment. The new one is complete when its files
are renamed to `.swap`. From then on it counts, whatever becomes of the old ones: a start after a
crash finishes what began here (README.md, crash states). Source: Kafka's
Cleaner.groupSegmentsBySize, LocalLog.replaceSegments.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from kafkalite.log.disk_wait import DiskWait, Waits
from kafkalite.log.files import SWAP_SUFFIX
from kafkalite.log.log_state import LogState
from kafkalite.log.retention import delete_segment
from kafkalite.log.segment import LogSegment
from kafkalite.wire.errors import ErrorCode, KafkaError

# The segments that one new segment replaces: that takes 2 to 8 ms.
MOST_TOGETHER: Final = 25


def group_by_size(
    segments: list[LogSegment], max_bytes: int, max_index_bytes: int, end_offset: int
) -> Iterator[list[LogSegment]]:
    """Neighbours that together make one segment of at most the sizes given, in bytes.

    `segments` follow each other, and `end_offset` is where the last of them ends. The offsets of a
    group fit its first segment's indexes. Apache Kafka has no limit for their number; here they are
    replaced in one go, which would keep others waiting.
    """
    group: list[LogSegment] = []
    sizes: tuple[int, ...] = (0, 0, 0)
    limits = (max_bytes, max_index_bytes, max_index_bytes)
    for i, segment in enumerate(segments):
        last_offset = (segments[i + 1].base_offset if i + 1 < len(segments) else end_offset) - 1
        # Kafka's cleaner leaves nothing there, which goes with its neighbour however large that is.
        size = 0 if segment.is_only_an_end else segment.size
        own = (size, segment.offset_index.size_bytes, segment.time_index.size_bytes)
        together = tuple(a + b for a, b in zip(sizes, own, strict=True))
        if (
            group
            and len(group) < MOST_TOGETHER
            and all(a <= b for a, b in zip(together, limits, strict=True))
            and (not size or group[0].takes_offset(last_offset))
        ):
            group.append(segment)
            sizes = together
        else:
            if group:
                yield group
            group, sizes = [segment], own
    if group:
        yield group


def replace_segments(
    log: LogState, cleaned: LogSegment, old: list[LogSegment], check: Callable[[], None]
) -> Waits[None]:
    """Put `cleaned` in the place of `old`, which begins at the same offset. Raises OSError.

    `check` raises if the log has changed while the disk was waited for: nothing is replaced then.
    """
    if cleaned.base_offset != old[0].base_offset:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{log.name}: offsets must not change")
    cleaned.rename(log.directory, SWAP_SUFFIX)
    wait = DiskWait(partial(log.files.sync_directory, log.directory))
    yield wait
    wait.finish()
    check()
    try:
        now_ms, why = log.now_ms(), "it is compacted"
        for segment in old:
            delete_segment(log, segment, now_ms, why, keep_snapshot=segment is old[0])
        log.segments.add(cleaned)
        cleaned.rename(log.directory, "")
        wait = DiskWait(partial(log.files.sync_directory, log.directory))
        yield wait
        if log.offline_reason is None:
            wait.finish()
    except OSError as error:
        # Half of the files have their names. Only opening the log anew puts that right.
        raise OSError(errno.EIO, f"segments half replaced: {error}") from error
