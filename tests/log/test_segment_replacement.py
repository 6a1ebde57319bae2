"""Neighbouring segments become one, which takes their place."""

import errno
from typing import Any

import pytest

from kafkalite.log.cleaner import cleanable_part
from kafkalite.log.compaction import Compaction
from kafkalite.log.config import LogConfig
from kafkalite.log.disk_wait import without_threads
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.segment import LogSegment
from kafkalite.log.segment_replacement import MOST_TOGETHER, group_by_size, replace_segments
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES, Record, RecordBatch, build_batch
from tests.log.compacted import COMPACT, clean, kept, put
from tests.log.faults import FaultyFiles


def test_segments_are_grouped_by_size(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(30):
        put(disk, log, (b"a", b"%d" % i))
    segments = list(log.segments)[:-1]
    total = sum(segment.size for segment in segments)

    def grouped(*limits: int) -> list[list[LogSegment]]:
        return [*group_by_size(segments, *limits)]

    assert grouped(total, 10**6, 30) == [segments]
    assert grouped(total - 1, 10**6, 30) == [segments[:-1], segments[-1:]]
    assert grouped(1, 10**6, 30) == [[segment] for segment in segments]
    assert grouped(total, 8, 30) != [segments]
    assert grouped(total, 10**6, 2**31 + 1) == [segments[:-1], segments[-1:]]
    assert [*group_by_size([], total, 10**6, 30)] == []


def test_a_segment_without_records_goes_with_its_neighbour(disk: Any) -> None:
    """Its last batch only keeps the end of its offsets, and counts for nothing."""
    log = disk.log(config=COMPACT)
    for value in (b"old", b"new", b"active"):
        put(disk, log, (b"a", value * 50))
    clean(log)
    segments = list(log.segments)[:-1]
    assert [segment.size for segment in segments] == [HEADER_BYTES, segments[1].size]
    assert [*group_by_size(segments, segments[1].size, 10**6, 30)] == [segments]


def test_not_too_many_segments_are_replaced_in_one_go(disk: Any) -> None:
    log = disk.log(config=LogConfig(cleanup_policy=("compact",), segment_ms=1))
    for i in range(2 * MOST_TOGETHER + 2):
        disk.now_ms += 10
        put(disk, log, (b"%d" % i, b"v"))
    segments = list(log.segments)[:-1]
    sizes = [len(group) for group in group_by_size(segments, 1 << 30, 1 << 20, 1000)]
    assert sizes == [MOST_TOGETHER, MOST_TOGETHER, 1]


def test_many_segments_are_compacted_in_many_steps(disk: Any, records: Any) -> None:
    """For each of them the transactions are looked for in all others."""
    config = LogConfig(cleanup_policy=("compact",), segment_ms=1, min_cleanable_dirty_ratio=0.0)
    log = disk.log(config=config)
    count = 500
    for i in range(count):
        disk.now_ms += 10
        put(disk, log, (b"%d" % (i % 7), b"%d" % i))
    part = cleanable_part(log, 0)
    first, end = part.first_dirty_offset, part.first_uncleanable_offset
    steps = Compaction(log, first, end, 1000).run()
    mapped = 0
    cleaned = 0
    for step in steps:
        if any(log.directory.glob("*.cleaned")):
            cleaned += 1
        else:
            mapped += 1
        if step.work is not None:
            step.work()
    assert log.recovery_point == log.segments.active.base_offset
    assert mapped >= count - 1
    assert cleaned >= count // 16
    assert [offset for offset, _, _ in kept(records, log)] == [*range(count - 8, count)]


def replace(log: Log, cleaned: LogSegment, old: list[LogSegment]) -> None:
    without_threads(replace_segments(log, cleaned, old, lambda: None))


def cleaned_of(log: Log, *batches: bytes) -> LogSegment:
    """A `.cleaned` segment at the log's start with these batches."""
    cleaned = LogSegment.create(
        log.directory, 0, log.open_files, now_ms=0, second_suffix=".cleaned"
    )
    cleaned.ensure_file()
    for data in batches:
        batch = RecordBatch(data)
        cleaned.append(b"", data, len(data), batch.base_offset, batch.last_offset, 0, 0)
    cleaned.become_inactive()
    return cleaned


def test_the_new_segment_has_the_old_ones_name_and_they_go_later(disk: Any, values: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(24):
        put(disk, log, (b"k", b"%d" % i))
    old = list(log.segments)[:3]
    bases = log.segments.base_offsets
    first_left = bases[3]
    held = log.read(0, 100, upper_bound=24).records
    before = held.read()
    kept = build_batch([Record(key=b"k", value=b"kept")], base_offset=first_left - 1)
    replace(log, cleaned_of(log, kept), old)
    assert log.segments.base_offsets == [0, *bases[3:]]
    assert values(log)[0] == b"kept"
    assert held.read() == before
    held.close()
    assert not [name for name in disk.names() if name.endswith((".swap", ".cleaned"))]
    deleted = [name for name in disk.names() if name.endswith(".log.deleted")]
    assert deleted == [f"{base:020d}.log.deleted" for base in bases[:3]]
    snapshots = [name for name in disk.names() if name.endswith(".snapshot")]
    assert f"{first_left:020d}.snapshot" in snapshots
    assert f"{bases[1]:020d}.snapshot" not in snapshots
    disk.now_ms += log.config.file_delete_delay_ms
    without_threads(log.unlinking_deleted())
    assert not [name for name in disk.names() if name.endswith(".deleted")]


def test_a_replacement_keeps_its_offset(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(24):
        put(disk, log, (b"k", b"%d" % i))
    before = disk.names()
    cleaned = cleaned_of(log)
    with pytest.raises(KafkaError, match="offsets must not change"):
        replace(log, cleaned, list(log.segments)[1:3])
    cleaned.unlink()
    assert disk.names() == before


def test_a_replacement_that_fails_half_way_takes_the_log_offline_for_good(disk: Any) -> None:
    """Half of the files have their names: even a full disk's error does not pass here."""
    files = FaultyFiles()
    disk.open_files = OpenFiles(files=files)
    log = disk.log(config=COMPACT)
    for i in range(24):
        put(disk, log, (b"k", b"%d" % i))
    cleaned = cleaned_of(log)

    def full(size: int) -> int:
        raise OSError(errno.ENOSPC, "full")

    files.fail_at, files.fault = files.count + 6, full
    with pytest.raises(OSError, match="segments half replaced") as caught:
        replace(log, cleaned, list(log.segments)[:3])
    assert caught.value.errno == errno.EIO
