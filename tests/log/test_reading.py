"""Reading a log: by offset, by timestamp, with the transactions that were aborted."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.page_cache import NotBrief, cached_only
from kafkalite.log.transaction_index import TransactionIndex
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import RecordBatch, iterate_batches
from tests.log.compacted import COMPACT, clean, put
from tests.log.conftest import Disk
from tests.log.many_segments import COUNT, counted, many_segments
from tests.log.producing import Producer, aborted


def first_batch(result: Any) -> RecordBatch:
    with result.records:
        return next(iterate_batches(result.records.read()))


@pytest.mark.parametrize("segment_bytes", [70, 200, 1000, 1 << 30])
def test_every_offset_is_found_in_any_segment(disk: Any, values: Any, segment_bytes: int) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100)
    log = disk.log(config=config)
    for i in range(200):
        disk.append(log, b"" if segment_bytes == 70 else b"%d" % i)
    assert segment_bytes == 1 << 30 or len(log.segments) > 10
    for reopened in (log, None):
        if reopened is None:
            log.close()
            log = disk.log(config=config, clean_shutdown=True)
            log.advance_high_watermark(200)
        for offset in range(200):
            assert first_batch(log.read(offset, 1, upper_bound=200)).base_offset == offset
        assert len(values(log)) == 200


def test_reads_stop_at_the_upper_bound(disk: Any) -> None:
    log = disk.log()
    for _ in range(10):
        disk.append(log, b"x", b"y")
    result = log.read(4, 1 << 20, upper_bound=12)
    with result.records:
        offsets = [batch.base_offset for batch in iterate_batches(result.records.read())]
    assert offsets == [4, 6, 8, 10]
    assert log.read(12, 1 << 20, upper_bound=12).records == b""
    assert log.read(20, 1 << 20, upper_bound=20).records == b""


def test_the_first_batch_comes_whole_or_not_at_all(disk: Any) -> None:
    log = disk.log()
    disk.append(log, b"x" * 1000)
    disk.append(log, b"y" * 1000)
    with log.read(0, 10, upper_bound=2).records as records:
        assert [batch.base_offset for batch in iterate_batches(records.read())] == [0]
    assert log.read(0, 10, upper_bound=2, minimum_one_batch=False).records == b""
    with log.read(0, 1500, upper_bound=2, minimum_one_batch=False).records as records:
        assert len(records) == 1500


@pytest.mark.parametrize("offset", [-1, 0, 2, 7])
def test_offsets_outside_the_log_are_out_of_range(disk: Any, offset: int) -> None:
    log = disk.log()
    for _ in range(6):
        disk.append(log, b"x")
    log.delete_records_before(3)
    with pytest.raises(KafkaError) as caught:
        log.read(offset, 1000, upper_bound=6)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("segment_bytes", [200, 1 << 30])
@pytest.mark.parametrize("restart", ["none", "clean", "crash"])
def test_aborted_transactions_are_told(disk: Any, segment_bytes: int, restart: str) -> None:
    config = LogConfig(segment_bytes=segment_bytes)
    a = Producer(disk, disk.log(config=config), producer_id=1)
    b = Producer(disk, a.log, producer_id=2)
    a.append(0, transactional=True)  # 0
    b.append(0, transactional=True)  # 1
    a.append(1, transactional=True)  # 2
    a.end(commit=False)  # 3
    a.append(0, epoch=1, transactional=True)  # 4
    b.end(commit=True)  # 5
    a.end(commit=False, epoch=1)  # 6
    b.append(0, epoch=1, transactional=True)  # 7
    b.end(commit=False, epoch=1)  # 8
    log = a.log
    if restart == "clean":
        log.close()
    elif restart == "crash":
        log.close_files()
    if restart != "none":
        log = disk.log(config=config, clean_shutdown=restart == "clean")
        log.advance_high_watermark(9)
    assert log.last_stable_offset == 9
    assert aborted(log, 0, 9) == [(1, 0), (1, 4), (2, 7)]
    assert aborted(log, 0, 3) == [(1, 0)]
    assert aborted(log, 4, 7) == [(1, 4)]
    assert aborted(log, 8, 9) == [(2, 7)]
    assert aborted(log, 5, 6) == [(1, 4)]
    result = log.read(0, 1 << 20, upper_bound=9, with_aborted_transactions=True)
    assert result.aborted_transactions
    assert result.aborted_transactions[0][:2] == (1, 0)
    assert log.read(0, 1 << 20, upper_bound=9).aborted_transactions is None
    empty = log.read(9, 1 << 20, upper_bound=9, with_aborted_transactions=True)
    assert empty.aborted_transactions == []


SMALL = LogConfig(segment_bytes=200, index_interval_bytes=0)


def timed(disk: Disk, *times: int) -> Log:
    """A log of several segments, with one record of each timestamp."""
    log = disk.log(config=SMALL)
    for i, timestamp in enumerate(times):
        disk.append(log, b"%d" % i, timestamp=timestamp)
    return log


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (0, (100, 0)),
        (100, (100, 0)),
        (101, (500, 1)),
        (301, (500, 1)),
        (501, (700, 4)),
        (700, (700, 4)),
        (701, None),
    ],
)
def test_the_first_record_that_is_not_earlier(
    disk: Disk, timestamp: int, found: tuple[int, int] | None
) -> None:
    log = timed(disk, 100, 500, 300, 200, 700, 400, -1)
    assert len(log.segments) > 2
    assert log.offset_for_timestamp(timestamp) == (found and (*found, 0))
    log.close()
    log = disk.log(config=SMALL, clean_shutdown=True)
    assert log.offset_for_timestamp(timestamp) == (found and (*found, 0))


def test_deleted_records_have_no_time(disk: Disk) -> None:
    log = timed(disk, 100, 500, 300, 200, 700, 400)
    log.delete_records_before(1)
    assert log.segments.base_offsets[:2] == [0, 2]
    assert log.offset_for_timestamp(0) == (500, 1, 0)
    log.delete_records_before(5)
    assert log.offset_for_timestamp(0) is None


def test_no_other_segment_is_searched_than_the_first_with_such_a_time(disk: Disk) -> None:
    """Its record was deleted, and Kafka looks no further. Deleted segments count, too."""
    log = timed(disk, 500, 100, 300, 600)
    assert log.segments.base_offsets == [0, 2]
    log.delete_records_before(1)
    assert log.offset_for_timestamp(100) == (100, 1, 0)
    assert log.offset_for_timestamp(300) is None
    assert log.offset_for_timestamp(501) == (600, 3, 0)
    log.delete_records_before(2)
    assert log.offset_for_timestamp(300) is None


def test_a_segment_whose_time_index_is_lost_goes_by_its_file_s_time(disk: Disk) -> None:
    config = LogConfig(segment_bytes=80)
    log = disk.log(config=config)
    for time in (100, 200, 300):
        disk.append(log, b"x", timestamp=time)
    first = log.segments.first.time_index.path
    log.close()
    first.write_bytes(b"")
    log = disk.log(config=config, clean_shutdown=True)
    assert log.offset_for_timestamp(50) == (100, 0, 0)


def test_so_does_a_segment_that_kafkas_cleaner_has_emptied(disk: Disk) -> None:
    log = timed(disk, 100, 500, 300, 600)
    assert log.segments.base_offsets == [0, 2]
    log.close()
    emptied = log.segments.first
    for path in (emptied.file.path, emptied.offset_index.path, emptied.time_index.path):
        path.write_bytes(b"")
    emptied.set_modified_ms(400)
    log = disk.log(config=SMALL, clean_shutdown=True)
    assert log.segments.base_offsets == [0, 2]
    assert log.offset_for_timestamp(50) is None
    assert log.offset_for_timestamp(400) is None
    assert log.offset_for_timestamp(401) == (600, 3, 0)


def test_the_first_record_with_the_largest_timestamp(disk: Disk) -> None:
    assert disk.log("empty-0").max_timestamp_offset() is None
    log = timed(disk, 100, 700, 300, 700, 200)
    assert log.max_timestamp_offset() == (700, 1, 0)
    log.delete_records_before(3)  # its segment is still there
    assert log.max_timestamp_offset() == (700, 1, 0)
    log = disk.log("timeless-0")
    disk.append(log, b"x", timestamp=-1)
    assert log.max_timestamp_offset() == (-1, 0, 0)


@pytest.mark.parametrize("offset", range(7))
@pytest.mark.parametrize("upper_bound", range(7))
def test_nothing_at_or_above_the_upper_bound_is_read(
    disk: Disk, offset: int, upper_bound: int
) -> None:
    log = timed(disk, *range(100, 106))
    result = log.read(offset, 1 << 20, upper_bound=upper_bound)
    if offset >= upper_bound:
        assert (result.offset, result.records) == (offset, b"")
        assert (result.segment_base_offset, result.position) == (-1, -1)
        assert result.aborted_transactions is None
        return
    assert not isinstance(result.records, bytes)
    with result.records as records:
        offsets = [batch.base_offset for batch in iterate_batches(records.read())]
    bases = log.segments.base_offsets
    segment = max(base for base in bases if base <= offset)
    following = min([base for base in bases if base > offset], default=6)
    assert offsets == list(range(offset, min(upper_bound, following)))
    assert result.segment_base_offset == segment


def test_a_hole_at_a_segment_s_end_is_read_over(disk: Disk) -> None:
    log = disk.log(config=SMALL)
    disk.append(log, b"x")
    log.roll()
    log.append_as_follower(disk.batch(b"y", base_offset=10))
    log.advance_high_watermark(11)
    with log.read(5, 1000, upper_bound=11).records as records:
        assert [batch.base_offset for batch in iterate_batches(records.read())] == [10]


def test_a_read_that_fails_takes_the_log_offline(disk: Disk) -> None:
    log = timed(disk, *range(100, 106))
    log.close_files()
    log.segments.first.file.path.unlink()
    with pytest.raises(KafkaError) as caught:
        log.read(0, 1000, upper_bound=6)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.offline_reason is not None


@pytest.mark.parametrize("segment_bytes", [100, 1 << 30])
def test_aborted_transactions_are_told_as_they_ended(disk: Disk, segment_bytes: int) -> None:
    """Apache Kafka does not put them in order, either (LocalLog.collectAbortedTransactions)."""
    log = disk.log(config=LogConfig(segment_bytes=segment_bytes))
    first, second, third = (Producer(disk, log, producer_id=number) for number in (1, 2, 3))
    for producer in (first, second, third):
        producer.append(0, transactional=True)
    for producer in (second, third, first):
        producer.end(commit=False)
    assert aborted(log, 0, 6) == [(2, 1), (3, 2), (1, 0)]
    result = log.read(0, 1 << 20, upper_bound=6, with_aborted_transactions=True)
    assert result.aborted_transactions is not None
    assert result.aborted_transactions[-1] == (1, 0)
    assert not isinstance(result.records, bytes)
    result.records.close()


def test_aborted_transactions_are_those_of_the_slice_that_is_read(disk: Disk) -> None:
    log = disk.log(config=LogConfig(segment_bytes=10_000, index_interval_bytes=0))
    producer = Producer(disk, log, producer_id=1)
    for i in range(6):
        producer.append(0, epoch=i, transactional=True)
        producer.end(commit=False, epoch=i)
    result = log.read(0, 1, upper_bound=12, with_aborted_transactions=True)
    assert not isinstance(result.records, bytes)
    result.records.close()
    assert result.aborted_transactions is not None
    # Up to the next entry of the offset index: some more than the batch, far fewer than all.
    assert result.aborted_transactions == [(1, 0)]


def test_aborted_transactions_behind_an_open_one_are_told(disk: Disk) -> None:
    """Kafka looks to the next entry of the index, or to the end of the segment."""
    log = disk.log()
    Producer(disk, log, producer_id=1).append(0, transactional=True)
    other = Producer(disk, log, producer_id=2)
    other.append(0, transactional=True)
    other.end(commit=False)
    assert log.last_stable_offset == 0
    disk.append(log, b"plain")
    open_ = Producer(disk, log, producer_id=3)
    open_.append(0, transactional=True)
    Producer(disk, log, producer_id=1).end(commit=True)
    assert log.last_stable_offset == 4
    other.append(0, epoch=1, transactional=True)
    other.end(commit=False, epoch=1)
    result = log.read(0, 1 << 20, upper_bound=4, with_aborted_transactions=True)
    assert not isinstance(result.records, bytes)
    result.records.close()
    assert result.aborted_transactions == [(2, 1), (2, 6)]


@pytest.mark.parametrize(("max_bytes", "told"), [(0, [0]), (1, None), (60, None)])
def test_aborted_transactions_where_the_first_batch_does_not_fit(
    disk: Disk, max_bytes: int, told: list[int] | None
) -> None:
    """None are told of a batch that is too large; all up to the next entry of the index where
    there is no room at all."""
    log = disk.log(config=LogConfig(segment_bytes=10_000, index_interval_bytes=0))
    producer = Producer(disk, log, producer_id=1)
    for i in range(3):
        producer.append(0, epoch=i, transactional=True)
        producer.end(commit=False, epoch=i)
    result = log.read(
        0, max_bytes, upper_bound=6, minimum_one_batch=False, with_aborted_transactions=True
    )
    assert result.records == b""
    aborted = result.aborted_transactions
    assert (aborted and [first_offset for _, first_offset in aborted]) == told


@pytest.mark.parametrize(
    "look_up", [Log.max_timestamp_offset, lambda log: log.offset_for_timestamp(log.now_ms())]
)
def test_the_times_of_many_segments_are_read_in_a_thread(disk: Disk, look_up: Any) -> None:
    files = counted(disk)
    log = many_segments(disk)
    files.count = 0
    with cached_only, pytest.raises(NotBrief) as caught:
        look_up(log)
    assert files.count == 0
    caught.value.read()
    files.count = 0
    with cached_only:
        assert look_up(log) == (disk.now_ms, COUNT - 1, 0)
    assert files.count < 10


def test_a_disk_that_fails_in_the_thread_is_met_by_the_look_up_in_the_end(disk: Disk) -> None:
    log = many_segments(disk)
    log.segments.first.time_index.path.unlink()
    log.segments.first.time_index.path.mkdir()
    with cached_only, pytest.raises(NotBrief) as caught:
        log.max_timestamp_offset()
    caught.value.read()
    with pytest.raises(KafkaError) as failed:
        log.max_timestamp_offset()
    assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_segments_before_the_log_start_are_not_searched(disk: Disk) -> None:
    files = counted(disk)
    log = many_segments(disk)
    log.max_timestamp_offset()
    log.delete_records_before(COUNT - 2)
    files.count = 0
    assert log.offset_for_timestamp(0) is None
    assert files.count < 10


def test_transactions_are_looked_for_only_in_segments_that_have_some(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []

    def overlapping(index: TransactionIndex, *offsets: int) -> Any:
        looked_at.append(index.base_offset)
        return plain(index, *offsets)

    plain = TransactionIndex.overlapping
    monkeypatch.setattr(TransactionIndex, "overlapping", overlapping)
    log = many_segments(disk)
    producer = Producer(disk, log)
    producer.append(0, transactional=True)
    producer.end(commit=False)
    log.roll()
    disk.append(log, b"y")
    end = log.log_end_offset
    for is_clean in (None, True, False):
        if is_clean is not None:
            log.close()
            log = disk.log(config=log.config, clean_shutdown=is_clean)
        looked_at.clear()
        found = log.aborted_transactions(0, end)
        assert [each.first_offset for each in found] == [COUNT]
        assert looked_at[-1] == log.segments.active.base_offset
        assert len(looked_at) == 2
        if is_clean:  # recovery makes the index again
            (index,) = (disk.root / "topic-0").glob("*.txnindex")
            index.unlink()


def test_by_timestamp_behind_a_segment_that_the_cleaner_has_emptied(disk: Any) -> None:
    """Its file is younger than all records, and it has none."""
    log = disk.log(config=COMPACT)
    for value in (b"old", b"new", b"active"):
        put(disk, log, (b"a", value * 50))
    clean(log)
    assert log.segments.first.is_only_an_end
    assert log.offset_for_timestamp(disk.now_ms) == (disk.now_ms, 1, 0)
