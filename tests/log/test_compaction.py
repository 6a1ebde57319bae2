"""Compaction: the records that stay and those that go, against rules in a few plain lines."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.cleaner import cleanable_part
from kafkalite.log.compaction import CleaningAborted, Compaction
from kafkalite.log.files import Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches
from tests.log.compacted import COMPACT, DAY_MS, batches, clean, end, kept, put


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


def test_a_batch_that_is_kept_for_a_segment_s_end_has_no_time(disk: Any) -> None:
    """Else the log's largest time would be that of no record."""
    log = disk.log(config=COMPACT)
    put(disk, log, (b"a", b"first"))
    put(disk, log, (b"b", b"x" * 300), timestamp=disk.now_ms + 1_000_000)
    log.roll()
    put(disk, log, (b"b", b"y" * 300), (b"c", b"3"), timestamp=disk.now_ms + 5)
    log.roll()
    put(disk, log, (b"z", b"active"))
    clean(log)
    assert [(b.last_offset, b.record_count, b.max_timestamp) for b in batches(log)] == [
        (0, 1, disk.now_ms),
        (1, 0, -1),
        (3, 2, disk.now_ms + 5),
        (4, 1, disk.now_ms),
    ]
    found = log.max_timestamp_offset()
    assert found is not None
    assert (found.offset, found.timestamp) == (2, disk.now_ms + 5)
    again = disk.log(config=COMPACT)
    assert again.max_timestamp_offset() == found


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


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "aborted"])
def test_a_segment_s_end_is_no_data_of_a_transaction(disk: Any, records: Any, commit: bool) -> None:
    """Its marker goes all the same, and the log opens again without an open transaction."""
    log = disk.log(config=COMPACT)
    put(disk, log, (b"z", b"first" * 50))
    producer = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
    put(disk, log, (b"a", b"x"), base_sequence=0, **producer)
    log.roll()
    end(disk, log, 1, commit=commit)
    put(disk, log, (b"a", b"last" * 60))
    log.roll()
    log.producer_state.producers.clear()  # expired, so that nothing stays for their sake
    end_offset = clean(log)
    for step_ms in (0, DAY_MS, 0):
        disk.now_ms += step_ms
        clean(log, end_offset)
    assert [(b.last_offset, b.record_count, b.is_control) for b in batches(log)] == [
        (0, 1, False),
        (1, 0, False),
        (3, 1, False),
    ]
    assert log.aborted_transactions(0, 4) == []
    again = disk.log(config=COMPACT)
    assert (again.last_stable_offset, again.producer_state.producers) == (again.high_watermark, {})
    assert again.producer_state.first_unstable_offset is None


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
        log.delete(disk.root / "topic-0.1-delete")
    with pytest.raises(CleaningAborted):
        for _ in run:
            pass
    assert not list(log.directory.glob("*.cleaned"))


def test_a_log_truncated_before_the_swap_keeps_its_segments(disk: Any, values: Any) -> None:
    """The disk is waited for when the new segment is named `.swap`: nothing is replaced yet."""
    log = disk.log(config=COMPACT)
    for i in range(24):
        put(disk, log, (b"k", b"%d" % i))
    before = values(log)
    part = cleanable_part(log, None)
    steps = Compaction(
        log, part.first_dirty_offset, part.first_uncleanable_offset, max_keys=100
    ).run()
    for step in steps:
        if any(name.endswith(".log.swap") for name in disk.names()):
            break
        if step.work is not None:
            step.work()
    log.truncate_to(23)
    with pytest.raises(CleaningAborted):
        next(steps)
    assert values(log) == before[:23]
    assert not [name for name in disk.names() if name.endswith((".swap", ".cleaned", ".deleted"))]


class TurnFiles(Files):
    """Knows how much is read and written in a turn of the loop at most."""

    in_thread = False
    most = 0

    def taken_by_thread(self, work: Callable[[], None]) -> None:
        self.in_thread = True
        work()
        self.in_thread = False

    def pread(self, descriptor: int, size: int, position: int) -> bytes:
        if not self.in_thread:
            self.most = max(self.most, size)
        return super().pread(descriptor, size, position)

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if not self.in_thread:
            self.most = max(self.most, len(data))
        return super().pwrite(descriptor, data, position)


@pytest.mark.parametrize("is_stamped", [False, True])
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.LZ4])
def test_a_large_batch_is_compacted_in_pieces(
    disk: Any, records: Any, compression: Compression, is_stamped: bool
) -> None:
    files = TurnFiles()
    disk.open_files = OpenFiles(files=files)
    stamps = "LogAppendTime" if is_stamped else "CreateTime"
    log = disk.log(
        config=replace(
            COMPACT,
            segment_bytes=1 << 30,
            max_message_bytes=1 << 30,
            message_timestamp_type=stamps,
        )
    )
    values = [Random(number).randbytes(PIECE_BYTES // 2 + 7) for number in range(6)]
    put(disk, log, *((b"k%d" % i, each) for i, each in enumerate(values)), compression=compression)
    put(disk, log, (b"k0", b"new"), (b"k9", None))
    log.roll()
    put(disk, log, (b"z", b"active"))
    files.most = 0
    clean(log, in_thread=files.taken_by_thread)
    assert files.most <= PIECE_BYTES
    expected = [(i, b"k%d" % i, values[i]) for i in range(1, 6)]
    expected += [(6, b"k0", b"new"), (7, b"k9", None), (8, b"z", b"active")]
    assert kept(records, log) == expected
