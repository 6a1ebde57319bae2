"""Compaction: what stays, what goes, when; against the rules told again in a few plain lines."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.cleaner import Cleaner, Throttle, cleanable_part
from kafkalite.log.compaction import CleaningAborted, Compaction, group_by_size
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, RecordBatch, build_batch, iterate_batches

DAY_MS = 86_400_000
COMPACT = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=400,
    index_interval_bytes=60,
    min_cleanable_dirty_ratio=0.01,
    delete_retention_ms=DAY_MS,
)


def put(disk: Any, log: Log, *pairs: tuple[bytes, bytes | None], **fields: Any) -> int:
    timestamp = fields.pop("timestamp", disk.now_ms)
    records = [Record(timestamp=timestamp, key=key, value=value) for key, value in pairs]
    info = log.append(build_batch(records, **fields), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)
    return info.base_offset


def end(disk: Any, log: Log, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
    marker = build_end_transaction_marker(
        producer_id=producer_id,
        producer_epoch=epoch,
        commit=commit,
        coordinator_epoch=0,
        timestamp=disk.now_ms,
    )
    log.append(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(log.log_end_offset)


def clean(log: Log, up_to: int = 0, max_keys: int = 1000) -> int:
    part = cleanable_part(log, up_to)
    run = Compaction(log, part.first_dirty_offset, part.first_uncleanable_offset, max_keys).run()
    while True:
        try:
            step = next(run)
        except StopIteration as stop:
            return stop.value
        if step.work is not None:
            step.work()


def kept(records: Any, log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records(log)]


def batches(log: Log) -> list[RecordBatch]:
    found: list[RecordBatch] = []
    for segment in log.segments:
        if segment.size:
            found += list(iterate_batches(segment.file.pread(segment.size, 0)))
    return found


def test_of_each_key_the_last_stays(disk: Any, records: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(60):
        put(disk, log, (b"k%d" % (i % 7), b"%d" % i))
    active = log.segments.active.base_offset
    size = log.size_bytes
    assert clean(log) == active
    assert log.size_bytes < size / 2
    expected = [
        (i, b"k%d" % (i % 7), b"%d" % i)
        for i in range(60)
        if i >= active or i % 7 not in [j % 7 for j in range(i + 1, active)]
    ]
    assert kept(records, log) == expected
    assert log.log_end_offset == 60
    assert clean(log, active) == active  # nothing more to do
    assert kept(records, log) == expected


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_compacted_log_opens_again(disk: Any, records: Any, is_clean: bool) -> None:
    log = disk.log(config=COMPACT)
    for i in range(60):
        put(disk, log, (b"k%d" % (i % 7), b"%d" % i))
    clean(log)
    before = kept(records, log)
    bases = log.segments.base_offsets
    log.close() if is_clean else log.close_files()
    log = disk.log(config=COMPACT, clean_shutdown=is_clean)
    assert (kept(records, log), log.segments.base_offsets, log.log_end_offset) == (
        before,
        bases,
        60,
    )
    assert not [name for name in disk.names() if name.endswith((".swap", ".cleaned"))]


def test_every_offset_can_be_asked_for(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(60):
        put(disk, log, (b"k%d" % (i % 7), b"%d" % i))
    clean(log)
    for offset in range(60):
        with log.read(offset, 1, upper_bound=60).records as slice_:
            first = next(iterate_batches(slice_.read()))
        assert first.last_offset >= offset
        assert not [b for b in batches(log) if offset <= b.last_offset < first.last_offset]


def test_the_last_batch_of_the_round_stays_even_if_empty(disk: Any, records: Any) -> None:
    """Spark, and whoever waits for an offset, must be able to go on to the end of what was
    cleaned."""
    log = disk.log(config=COMPACT)
    put(disk, log, (b"a", b"1"))
    put(disk, log, (b"a", b"2"), (b"b", b"2"))
    log.roll()
    put(disk, log, (b"a", b"3"), (b"b", b"3"))
    log.roll()
    put(disk, log, (b"z", b"active"))
    clean(log, up_to=0)
    assert [(b.base_offset, b.last_offset, b.record_count) for b in batches(log)] == [
        (3, 4, 2),
        (5, 5, 1),
    ]
    put(disk, log, (b"a", b"4"), (b"b", b"4"))
    log.roll()
    clean(log, up_to=5)
    log_2 = disk.log("other-0", config=COMPACT)
    put(disk, log_2, (b"a", None))
    log_2.roll()
    assert clean(log_2) == 1
    disk.now_ms += DAY_MS
    clean(log_2)
    [batch] = batches(log_2)
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (0, 0, 0)
    assert batch.is_valid()
    assert kept(records, log_2) == []


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_keeps_its_shape(disk: Any, codec: Compression) -> None:
    log = disk.log(config=COMPACT)
    put(
        disk,
        log,
        (b"a", b"1"),
        (b"b", b"1" * 100),
        (b"c", b"1"),
        compression=codec,
        producer_id=5,
        producer_epoch=2,
        base_sequence=40,
    )
    put(disk, log, (b"a", b"2"), (b"c", b"2"))
    log.roll()
    clean(log)
    first = batches(log)[0]
    assert first.is_valid()
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 2, 1)
    assert (first.producer_id, first.base_sequence, first.last_sequence) == (5, 40, 42)
    assert first.compression is codec
    assert first.partition_leader_epoch == 0


def test_tombstones_go_after_delete_retention(disk: Any, records: Any) -> None:
    log = disk.log(config=COMPACT)
    put(disk, log, (b"a", b"1"))
    put(disk, log, (b"a", None))
    put(disk, log, (b"b", b"1"))
    log.roll()
    end_offset = clean(log)
    assert kept(records, log) == [(1, b"a", None), (2, b"b", b"1")]
    assert batches(log)[0].delete_horizon_ms == disk.now_ms + DAY_MS
    timestamps = [record.timestamp for record in records(log)]
    assert timestamps == [disk.now_ms] * 2  # the horizon is not taken for a timestamp
    disk.now_ms += DAY_MS - 1
    clean(log, end_offset)
    assert kept(records, log) == [(1, b"a", None), (2, b"b", b"1")]
    disk.now_ms += 1
    clean(log, end_offset)
    assert kept(records, log) == [(2, b"b", b"1")]


def test_a_producers_last_batch_stays_and_its_retry_is_known(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for sequence in range(3):
        put(
            disk,
            log,
            (b"a", b"%d" % sequence),
            producer_id=8,
            producer_epoch=0,
            base_sequence=sequence,
        )
    put(disk, log, (b"a", b"last"))
    log.roll()
    put(disk, log, (b"b", b"x"))
    clean(log)
    assert [(b.base_offset, b.record_count) for b in batches(log)] == [(2, 0), (3, 1), (4, 1)]
    log.close_files()
    log = disk.log(config=COMPACT)
    again = log.append(
        build_batch(
            [Record(timestamp=disk.now_ms, key=b"a", value=b"2")],
            producer_id=8,
            producer_epoch=0,
            base_sequence=2,
        ),
        leader_epoch=0,
    )
    assert (again.is_duplicate, again.base_offset) == (True, 2)


def test_aborted_data_goes_and_its_marker_later(disk: Any, records: Any) -> None:
    log = disk.log(config=COMPACT)
    producer = {"producer_epoch": 0, "is_transactional": True}
    put(disk, log, (b"a", b"kept"))
    put(disk, log, (b"a", b"aborted"), producer_id=1, base_sequence=0, **producer)
    put(disk, log, (b"b", b"committed"), producer_id=2, base_sequence=0, **producer)
    end(disk, log, 1, commit=False)
    end(disk, log, 2, commit=True)
    put(disk, log, (b"c", b"x"))
    log.roll()
    log.producer_state.producers.clear()  # expired, so that nothing stays for their sake
    end_offset = clean(log)
    assert [r[2] for r in kept(records, log) if r[1] in (b"a", b"b")] == [b"kept", b"committed"]
    # Its data was there in this round: the abort is still told, the marker still there.
    assert [t.producer_id for t in log.aborted_transactions(0, 6)] == [1]
    assert [b.base_offset for b in batches(log) if b.is_control] == [3, 4]
    clean(log, end_offset)  # now without data: the delete horizon is set
    assert log.aborted_transactions(0, 6) == []
    horizons = [b.delete_horizon_ms for b in batches(log) if b.is_control]
    assert horizons == [disk.now_ms + DAY_MS, None]
    disk.now_ms += DAY_MS
    clean(log, end_offset)
    assert [b.base_offset for b in batches(log) if b.is_control] == [4]


def test_an_open_transaction_stops_the_cleaner(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(10):
        put(disk, log, (b"a", b"%d" % i))
    log.roll()
    put(
        disk,
        log,
        (b"a", b"t"),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    log.roll()
    put(disk, log, (b"a", b"last"))
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 10
    end(disk, log, 1, commit=True)
    log.roll()
    assert cleanable_part(log, 0).first_uncleanable_offset == 13


def test_a_small_map_takes_several_rounds(disk: Any, records: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(60):
        put(disk, log, (b"k%d" % (i % 20), b"%d" % i))
    log.roll()
    up_to, rounds = 0, 0
    while up_to < 60:
        reached = clean(log, up_to, max_keys=6)
        assert reached > up_to
        up_to, rounds = reached, rounds + 1
    assert rounds > 3
    assert kept(records, log) == [(i, b"k%d" % (i % 20), b"%d" % i) for i in range(40, 60)]


def test_when_a_log_is_due(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(20):
        put(disk, log, (b"a", b"%d" % i))
    part = cleanable_part(log, 0)
    assert part.is_due
    assert part.ratio == 1.0
    half = log.segments.base_offsets[2]
    log.config = LogConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9)
    assert not cleanable_part(log, half).is_due
    log.config = LogConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.9, max_compaction_lag_ms=1000
    )
    assert not cleanable_part(log, half).is_due
    disk.now_ms += 1001
    assert cleanable_part(log, half).is_due
    log.config = LogConfig(cleanup_policy=("compact",), min_compaction_lag_ms=2000)
    assert not cleanable_part(log, 0).is_due
    disk.now_ms += 1000
    assert cleanable_part(log, 0).is_due
    assert not cleanable_part(log, log.segments.active.base_offset).is_due


def test_segments_are_grouped_by_size(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(30):
        put(disk, log, (b"a", b"%d" % i))
    segments = list(log.segments)[:-1]
    total = sum(segment.size for segment in segments)
    assert group_by_size(segments, total, 10**6, 30) == [segments]
    assert group_by_size(segments, total - 1, 10**6, 30) == [segments[:-1], segments[-1:]]
    assert group_by_size(segments, 1, 10**6, 30) == [[segment] for segment in segments]
    assert group_by_size(segments, total, 8, 30) != [segments]
    assert group_by_size(segments, total, 10**6, 2**31 + 1) == [segments[:-1], segments[-1:]]


def test_appends_and_reads_go_on_meanwhile(disk: Any, records: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(40):
        put(disk, log, (b"k%d" % (i % 3), b"%d" % i))
    part = cleanable_part(log, 0)
    run = Compaction(log, part.first_dirty_offset, part.first_uncleanable_offset, 100).run()
    for i, step in enumerate(run):
        if step.work is not None:
            step.work()
        put(disk, log, (b"new%d" % i, b"x"))
        assert log.retain() == 0
    found = kept(records, log)
    assert [r for r in found if r[0] >= 40] == [
        (40 + i, b"new%d" % i, b"x") for i in range(log.log_end_offset - 40)
    ]
    assert {r[1] for r in found if r[0] < 40} == {b"k0", b"k1", b"k2"}


@pytest.mark.parametrize("what", ["truncate", "delete"])
def test_it_stops_when_the_log_is_cut_from_under_it(disk: Any, what: str) -> None:
    log = disk.log(config=COMPACT)
    for i in range(40):
        put(disk, log, (b"k", b"%d" % i))
    part = cleanable_part(log, 0)
    run = Compaction(log, part.first_dirty_offset, part.first_uncleanable_offset, 100).run()
    next(run)
    if what == "truncate":
        log.truncate_to(10)
    else:
        log.delete()
    with pytest.raises(CleaningAborted):
        for _ in run:
            pass
    assert not list(log.directory.glob("*.cleaned"))


def test_the_cleaner_remembers_and_goes_on(tmp_path: Path, disk: Any) -> None:
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)
    compacted = directory.open_log("compacted", 3, COMPACT)
    plain = directory.open_log("plain", 0, LogConfig(segment_bytes=400))
    for i in range(30):
        for log in (compacted, plain):
            put(disk, log, (b"k", b"%d" % i))
    cleaner = Cleaner([directory])
    assert run_to_end(cleaner)
    end_offset = compacted.segments.active.base_offset
    text = (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert text == f"0\n1\ncompacted 3 {end_offset}\n"
    assert compacted.size_bytes < plain.size_bytes / 3
    assert not run_to_end(Cleaner([directory]))
    directory.close()


def test_a_damaged_log_is_left_alone_and_the_others_are_cleaned(tmp_path: Path, disk: Any) -> None:
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: disk.now_ms)
    logs = [directory.open_log("t", i, COMPACT) for i in range(2)]
    for i in range(30):
        for log in logs:
            put(disk, log, (b"k", b"%d" % i))
    path = logs[0].segments.first.file.path
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    cleaner = Cleaner([directory])
    while run_to_end(cleaner):
        pass
    assert cleaner.uncleanable == {("t", 0)}
    assert logs[1].size_bytes < logs[0].size_bytes / 3
    directory.close()


def run_to_end(cleaner: Cleaner) -> bool:
    run = cleaner.clean()
    while True:
        try:
            step = next(run)
        except StopIteration as stop:
            return stop.value
        if step.work is not None:
            step.work()


def test_throttle() -> None:
    throttle = Throttle(100.0, now=0.0)
    assert throttle.wait_s(50, now=0.0) == pytest.approx(0.5)
    assert throttle.wait_s(50, now=0.5) == pytest.approx(0.5)
    assert throttle.wait_s(0, now=5.0) == 0.0
    assert throttle.wait_s(100, now=5.0) == pytest.approx(1.0)
