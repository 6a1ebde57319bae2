"""A log from the outside: append, read, roll, close, open again."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import RecordBatch, iterate_batches


def first_batch(result: Any) -> RecordBatch:
    with result.records:
        return next(iterate_batches(result.records.read()))


def test_offsets_and_epochs_are_given_and_bytes_are_kept(disk: Any) -> None:
    log = disk.log()
    sent = disk.batch(b"a", b"b", b"c")
    assert log.append(sent, leader_epoch=7).base_offset == 0
    info = log.append(sent, leader_epoch=7)
    assert (info.base_offset, info.last_offset, info.log_append_time_ms) == (3, 5, -1)
    log.advance_high_watermark(6)
    batch = first_batch(log.read(4, 1000, upper_bound=6))
    assert (batch.base_offset, batch.partition_leader_epoch) == (3, 7)
    assert bytes(batch.buffer[16:]) == sent[16:]
    assert batch.is_valid()


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


def test_a_slice_outlives_its_segment(disk: Any) -> None:
    log = disk.log(config=LogConfig(segment_bytes=200, retention_bytes=0, file_delete_delay_ms=0))
    for i in range(10):
        disk.append(log, b"%d" % i * 50)
    records = log.read(0, 1000, upper_bound=10).records
    assert log.retain() == 10
    assert log.retain() == 0  # unlinks what the first took out
    assert [name for name in disk.names() if name.endswith(".deleted")] == []
    assert b"0" * 50 in records.read()
    records.close()
    assert len(disk.open_files) <= 1


def test_time_index_and_offset_index_are_kafkas(disk: Any) -> None:
    """Bytes by hand: one entry per interval, `relative offset, position` and `timestamp,
    offset`."""
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for i in range(3):
        disk.append(log, b"v", timestamp=disk.now_ms + i)
    size = log.size_bytes // 3
    log.close()
    directory = disk.root / "topic-0"
    entries = (directory / f"{0:020d}.index").read_bytes()
    assert entries == b"".join(
        offset.to_bytes(4) + (offset * size).to_bytes(4) for offset in (1, 2)
    )
    times = (directory / f"{0:020d}.timeindex").read_bytes()
    assert times == b"".join(
        (disk.now_ms + offset).to_bytes(8) + offset.to_bytes(4) for offset in (1, 2)
    )
