"""A log loses its oldest records: to time, to size, to DeleteRecords."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.disk_wait import without_threads
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.many_segments import COUNT, counted, many_segments

DAY_MS = 86_400_000


def config(**fields: Any) -> LogConfig:
    return LogConfig(segment_bytes=300, file_delete_delay_ms=1000, **fields)


def filled(disk: Any, count: int = 20, **fields: Any) -> Any:
    log = disk.log(config=config(**fields))
    for i in range(count):
        disk.append(log, b"%03d" % i)
    return log


def test_time(disk: Any, values: Any) -> None:
    log = filled(disk, 10, retention_ms=DAY_MS)
    disk.now_ms += DAY_MS // 2
    for i in range(10, 20):
        disk.append(log, b"%03d" % i)
    assert log.retain() == 0
    disk.now_ms += DAY_MS // 2 + 1
    assert log.retain() == 2
    assert 0 < log.log_start_offset <= 10
    assert log.log_start_offset == log.segments.first.base_offset
    assert values(log) == [b"%03d" % i for i in range(log.log_start_offset, 20)]


def test_everything_may_go_and_the_log_goes_on(disk: Any, values: Any) -> None:
    log = filled(disk, retention_ms=DAY_MS)
    disk.now_ms += DAY_MS + 1
    assert log.retain() > 3
    assert (log.log_start_offset, log.log_end_offset, values(log)) == (20, 20, [])
    for is_clean in (False, True):
        log.close() if is_clean else log.close_files()
        # Even without the checkpoint of the log start: the active segment's name tells.
        log = disk.log(config=config(), clean_shutdown=is_clean)
        assert (log.log_start_offset, log.log_end_offset) == (20, 20)
    assert disk.append(log, b"next") == 20


def test_data_of_1970_stays_until_retention_looks(disk: Any, values: Any) -> None:
    fields = config(retention_ms=DAY_MS, segment_ms=DAY_MS)
    log = disk.log(config=fields)
    disk.append(log, b"old", timestamp=5)
    disk.append(log, b"new")  # rolls: further apart than segment.ms
    disk.append(log, b"old again", timestamp=6)
    log.flush()
    without_threads(log.unlinking_deleted())
    log.close()
    log = disk.log(config=fields, clean_shutdown=True)
    log.advance_high_watermark(3)
    assert (len(log.segments), values(log)) == (2, [b"old", b"new", b"old again"])
    assert log.retain() == 1  # only the rolled segment has nothing but old
    assert values(log) == [b"new", b"old again"]


@pytest.mark.parametrize("retention_ms", [-1, DAY_MS])
def test_retention_rolls_the_active_segment_when_all_in_it_is_old(
    disk: Any, retention_ms: int
) -> None:
    log = disk.log(config=config(retention_ms=retention_ms))
    disk.append(log, b"old", timestamp=5)
    assert log.retain() == (1 if retention_ms > 0 else 0)
    assert (log.log_start_offset, log.log_end_offset) == (1 if retention_ms > 0 else 0, 1)


def test_records_without_a_timestamp_go_by_the_file(disk: Any) -> None:
    log = disk.log(config=config(retention_ms=1000))
    disk.append(log, b"x", timestamp=-1)
    disk.now_ms = 10
    assert log.retain() == 0
    disk.now_ms = 2**42
    assert log.retain() == 1


def test_size(disk: Any) -> None:
    log = filled(disk)
    sizes = [segment.size for segment in log.segments]
    log.config = config(retention_bytes=sum(sizes[2:]))
    assert log.retain() == 2
    log.config = config(retention_bytes=sum(sizes[2:]) - 1)
    assert log.retain() == 0  # never less than what is asked to be kept
    log.config = config(retention_bytes=-1)
    assert log.retain() == 0


@pytest.mark.parametrize("fields", [{"retention_ms": -1}, {"cleanup_policy": ("compact",)}])
def test_indefinite(disk: Any, fields: dict[str, Any]) -> None:
    log = filled(disk)
    log.config = config(**fields)
    disk.now_ms += 1000 * DAY_MS
    assert log.retain() == 0


def test_nothing_above_the_high_watermark_goes(disk: Any) -> None:
    log = disk.log(config=config(retention_ms=1))
    for i in range(20):
        log.append(disk.batch(b"%d" % i), leader_epoch=0)
    log.advance_high_watermark(6)
    disk.now_ms += DAY_MS
    log.retain()
    assert log.log_start_offset == max(base for base in log.segments.base_offsets if base <= 6)


def test_files_go_after_the_delay(disk: Any) -> None:
    log = filled(disk, retention_bytes=0)
    log.retain()
    assert any(name.endswith(".deleted") for name in disk.names())
    disk.now_ms += 999
    without_threads(log.unlinking_deleted())
    assert any(name.endswith(".deleted") for name in disk.names())
    disk.now_ms += 1
    without_threads(log.unlinking_deleted())
    assert not any(name.endswith(".deleted") for name in disk.names())
    assert disk.names() == [
        f"{20:020d}.log",
        f"{20:020d}.snapshot",
        "leader-epoch-checkpoint",
    ]


def test_deleted_records(disk: Any, values: Any) -> None:
    log = filled(disk)
    assert log.delete_records_before(7) == 7
    assert log.delete_records_before(3) == 7  # older than the start: nothing to do
    assert values(log)[0] == b"007"
    with pytest.raises(KafkaError) as caught:
        log.delete_records_before(21)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    bases = log.segments.base_offsets
    assert log.retain() == sum(base <= 7 for base in bases) - 1
    assert values(log)[0] == b"007"
    assert log.leader_epochs.entries == [(0, 7)]


def test_deleted_records_go_from_compacted_topics_too(disk: Any) -> None:
    log = filled(disk)
    log.config = config(cleanup_policy=("compact",))
    active = log.segments.active.base_offset
    log.delete_records_before(20)
    assert log.retain() > 3
    assert log.segments.base_offsets == [active]


def test_the_active_segment_stays_when_all_its_records_are_deleted(disk: Any) -> None:
    log = filled(disk)
    active = log.segments.active
    log.delete_records_before(20)
    log.retain()
    assert (log.segments.active, log.log_start_offset) == (active, 20)
    assert log.max_timestamp_offset() is not None
    without_threads(log.retaining(takes_active=True))
    assert log.segments.base_offsets == [20]


def test_while_the_disk_is_waited_for_the_log_goes_on(disk: Any, values: Any) -> None:
    log = filled(disk, retention_ms=DAY_MS)
    disk.now_ms += DAY_MS + 1
    waits = log.retaining()
    next(waits)
    assert (log.log_start_offset, len(values(log))) == (0, 20)
    disk.append(log, b"next")
    assert log.retain() == 0  # another round is under way
    for _ in waits:
        pass
    assert values(log) == [b"next"]
    assert log.cleaning is None


@pytest.mark.parametrize("change", ["truncated", "deleted", "moved"])
def test_a_log_that_changes_meanwhile_is_left_alone(disk: Any, change: str) -> None:
    failures: list[OSError] = []
    log = disk.log(config=config(retention_ms=DAY_MS), on_failure=failures.append)
    for i in range(20):
        disk.append(log, b"%03d" % i)
    disk.now_ms += DAY_MS + 1
    waits = log.retaining()
    next(waits)
    if change == "truncated":
        log.truncate_to(10)
    elif change == "deleted":
        log.delete(disk.root / "topic-0.1-delete")
    else:
        log.cleaning = move = object()
    for _ in waits:
        pass
    assert (log.log_start_offset, failures) == (0, [])
    if change == "moved":
        assert log.cleaning is move


def test_files_are_unlinked_by_a_thread(disk: Any) -> None:
    log = filled(disk, retention_ms=DAY_MS)
    disk.now_ms += DAY_MS + 1
    count = log.retain()
    disk.now_ms += log.config.file_delete_delay_ms
    waits = list(log.unlinking_deleted())
    assert (len(waits), log.deleted_segments) == (count, [])
    assert not [name for name in disk.names() if name.endswith(".deleted")]


@pytest.mark.parametrize("configs", [{"retention_ms": 1}, {"retention_bytes": 0}, {}])
def test_many_segments_go_one_after_the_other(disk: Any, configs: Any) -> None:
    files = counted(disk)
    log = many_segments(disk, file_delete_delay_ms=1000, **configs)
    disk.now_ms += 10
    log.delete_records_before(0 if configs else COUNT - 1)
    assert files.most_in_one_go(log.retaining()) < 25
    assert log.log_start_offset >= COUNT - 1
    assert len(log.segments) == 1
    assert len(log.deleted_segments) >= COUNT - 1
    disk.now_ms += 1000
    assert files.most_in_one_go(log.unlinking_deleted()) < 5
    assert not any(".deleted" in name for name in disk.names())


def test_a_segment_that_is_old_is_looked_for_one_after_the_other(disk: Any) -> None:
    files = counted(disk)
    log = many_segments(disk, retention_ms=10**9)
    disk.now_ms += 10**9
    pieces = log.retaining()
    for _ in range(COUNT // 2):
        next(pieces)
    assert len(log.segments) == COUNT
    log.truncate_to(COUNT // 3)
    assert files.most_in_one_go(pieces) < 5
    assert (log.log_start_offset, len(log.segments)) == (0, COUNT // 3 + 1)


def test_a_log_truncated_while_its_segments_go_keeps_the_others(disk: Any) -> None:
    log = many_segments(disk)
    log.delete_records_before(COUNT - 1)
    pieces = log.retaining()
    while len(log.segments) > COUNT // 2:
        next(pieces)
    log.start_over_at(COUNT + 5)
    left = log.segments.base_offsets
    for _ in pieces:
        pass
    assert log.segments.base_offsets == left == [COUNT + 5]


def test_what_is_not_due_stays_on_the_disk(disk: Any) -> None:
    log = many_segments(disk, 10, file_delete_delay_ms=1000, retention_bytes=0)
    log.delete_records_before(3)
    log.retain()
    disk.now_ms += 500
    log.delete_records_before(6)
    log.retain()
    deadlines = sorted(deadline for deadline, _ in log.deleted_segments)
    disk.now_ms += 600
    without_threads(log.unlinking_deleted())
    assert [each for each, _ in log.deleted_segments] == [d for d in deadlines if d > disk.now_ms]
