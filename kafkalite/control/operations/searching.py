"""Searching the records of a topic: from an offset, a time, the beginning or the end; for text.

An answer comes after so many records were looked at, found or not, and says where to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kafkalite.control.answers import RecordsFound
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import milliseconds
from kafkalite.control.questions import SearchRecords
from kafkalite.control.record_reading import by_time, records_of
from kafkalite.control.record_reading import found as shown
from kafkalite.control.views import partition_of, topic_of
from kafkalite.replica.partition import Partition
from kafkalite.requests.disk_threads import off_loop
from kafkalite.requests.slices import Steps, WaitingSteps, in_slices_of_task, mapped
from kafkalite.wire.record_batch import Record

# Looked at for one answer, in all partitions together.
_MOST_SEARCHED: Final = 50_000
_LEAST_OF_A_PARTITION: Final = 1000
_SEARCHED_IN_A_STEP: Final = 64


@dataclass(slots=True)
class _Scan:
    """One partition: the records that were found in [first, end), in order of their offsets."""

    index: int
    first: int
    end: int
    searched: int = 0
    is_over: bool = False
    found: list[Record] = field(default_factory=list[Record])


async def search_records(cluster: ControlledCluster, request: SearchRecords) -> RecordsFound:
    """Records of a topic that have some text, with the places to go on from.

    They come from `positions` or before the offsets of `before`, which an earlier answer gave;
    else from `start`, from the first of the time `since`, or back from the end if `newest`.
    """
    topic = topic_of(cluster.broker, request.topic)
    chosen = topic.partitions
    if request.partition is not None:
        chosen = [partition_of(cluster.broker, request.topic, request.partition)]
    now_ms = cluster.clock.now_ms()
    starts: dict[int, int] = {}
    if not _is_backward(request):
        starts = await in_slices_of_task(_starts(chosen, request, now_ms))
    return await in_slices_of_task(_search(chosen, starts, request))


def _starts(
    partitions: list[Partition], request: SearchRecords, now_ms: int
) -> WaitingSteps[dict[int, int]]:
    starts: dict[int, int] = {}
    for each in partitions:
        starts[each.index] = yield from off_loop(partial(_start, each, request, now_ms))
        yield None
    return starts


def _is_backward(request: SearchRecords) -> bool:
    return request.newest or bool(request.before)


def _search(
    partitions: list[Partition], starts: Mapping[int, int], request: SearchRecords
) -> Steps[RecordsFound]:
    most = max(_LEAST_OF_A_PARTITION, _MOST_SEARCHED // max(1, len(partitions)))
    is_backward = _is_backward(request)
    matches = matcher(request)
    ends: dict[int, int] = {}
    scans: list[_Scan] = []
    for partition in partitions:
        limit = ends[partition.index] = partition.read_limit(committed_only=request.committed)
        if is_backward:
            end = min(limit, request.before.get(partition.index, limit))
            scans.append((yield from _backward(partition, end, request, matches, most)))
        else:
            start = starts[partition.index]
            scans.append((yield from _forward(partition, start, request, matches, most)))
        yield
    return (yield from _answer(scans, request, ends, is_backward=is_backward))


def _start(partition: Partition, request: SearchRecords, now_ms: int) -> int:
    """The first offset to be looked at."""
    first = partition.log.log_start_offset
    if partition.index in request.positions:
        return max(first, request.positions[partition.index])
    if request.from_ is not None:
        return max(first, request.from_)
    if request.since is None:
        return first
    since = request.since
    if isinstance(since, str):
        since = now_ms + milliseconds(since, field="since")
    there = partition.log.offset_for_timestamp(since)
    return partition.high_watermark if there is None else there.offset


def matcher(request: SearchRecords) -> Callable[[Record], bool]:
    """Tells whether a record has the text, in whatever case its letters of ASCII are."""
    if not request.text:
        return lambda record: True
    wanted = request.text.encode().lower()
    within = request.within or ["key", "value", "headers"]
    in_key, in_value, in_headers = (each in within for each in ("key", "value", "headers"))

    def matches(record: Record) -> bool:
        if in_value and record.value is not None and wanted in bytes(record.value).lower():
            return True
        if in_key and record.key is not None and wanted in bytes(record.key).lower():
            return True
        return in_headers and any(
            wanted in name.encode().lower() or wanted in bytes(value or b"").lower()
            for name, value in record.headers
        )

    return matches


def _forward(
    partition: Partition,
    start: int,
    request: SearchRecords,
    matches: Callable[[Record], bool],
    most: int,
) -> Generator[None, None, _Scan]:
    limit = max(start, partition.read_limit(committed_only=request.committed))
    scan = _Scan(partition.index, start, start)
    for record in records_of(partition, start, committed_only=request.committed):
        if scan.searched == most or len(scan.found) == request.count:
            return scan
        scan.searched += 1
        scan.end = record.offset + 1
        if matches(record):
            scan.found.append(record)
        if scan.searched % _SEARCHED_IN_A_STEP == 0:
            yield
    scan.end, scan.is_over = limit, True
    return scan


def _backward(
    partition: Partition,
    end: int,
    request: SearchRecords,
    matches: Callable[[Record], bool],
    most: int,
) -> Generator[None, None, _Scan]:
    """Look at windows before `end`, each twice as long as the one after it."""
    first = partition.log.log_start_offset
    scan = _Scan(partition.index, end, end)
    window = max(request.count, _SEARCHED_IN_A_STEP)
    while scan.first > first and scan.searched < most and len(scan.found) < request.count:
        start = max(first, scan.first - min(window, most))
        some: list[Record] = []
        for record in records_of(partition, start, committed_only=request.committed):
            if record.offset >= scan.first:
                break
            scan.searched += 1
            if matches(record):
                some.append(record)
            if scan.searched % _SEARCHED_IN_A_STEP == 0:
                yield
        scan.found[:0] = some
        scan.first = start
        window *= 2
    scan.is_over = scan.first <= first
    return scan


def _answer(
    scans: list[_Scan], request: SearchRecords, ends: dict[int, int], *, is_backward: bool
) -> Steps[RecordsFound]:
    """The first or the last of all that was found, by time; places leave out what is not given."""
    pairs = yield from mapped(_pairs, scans)
    merged = yield from by_time(pairs, lambda pair: pair[1].timestamp)
    chosen = merged[-request.count :] if is_backward else merged[: request.count]
    left_out = merged[: -request.count] if is_backward else merged[request.count :]
    following = {each.index: each.end for each in scans}
    before = {each.index: each.first for each in scans}
    if is_backward:
        for scan, record in left_out:
            before[scan.index] = max(before[scan.index], record.offset + 1)
        following = ends
    else:
        for scan, record in reversed(left_out):
            following[scan.index] = record.offset
    records = yield from mapped(lambda pair: shown(pair[0].index, pair[1], request.preview), chosen)
    return RecordsFound(
        records=records,
        next=following,
        before=before,
        searched=sum(each.searched for each in scans),
        exhausted=not left_out and all(each.is_over for each in scans),
    )


def _pairs(scan: _Scan) -> list[tuple[_Scan, Record]]:
    return [(scan, record) for record in scan.found]
