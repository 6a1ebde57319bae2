"""A log's offsets keep their order; its disk's errors pass, or take it offline."""

import errno
import logging

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.log_state import PASSING_ERRORS
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.conftest import Disk
from tests.log.producing import Producer


def test_the_high_watermark_never_moves_back_nor_beyond_the_end(disk: Disk) -> None:
    log = disk.log()
    for _ in range(5):
        log.append(disk.batch(b"x"), leader_epoch=0)
    assert log.high_watermark == 0
    moved: list[int] = []
    for offset in (3, 2, 100, 4):
        log.advance_high_watermark(offset)
        moved.append(log.high_watermark)
    assert moved == [3, 3, 5, 5]


def test_the_last_stable_offset_is_held_by_the_oldest_open_transaction(disk: Disk) -> None:
    log = disk.log()
    first, second = Producer(disk, log, 1), Producer(disk, log, 2)
    disk.append(log, b"x")
    first.append(0, transactional=True)
    second.append(0, transactional=True)
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    first.end(commit=True)
    assert log.last_stable_offset == 2
    second.end(commit=True)
    assert log.last_stable_offset == log.high_watermark == 5


def test_the_last_stable_offset_is_not_above_the_high_watermark(disk: Disk) -> None:
    log = disk.log()
    producer = Producer(disk, log)
    for _ in range(3):
        log.append(disk.batch(b"x"), leader_epoch=0)
    assert log.last_stable_offset == 0
    log.advance_high_watermark(2)
    assert log.last_stable_offset == 2
    producer.append(0, transactional=True)
    assert log.last_stable_offset == 3


def test_a_transaction_below_the_log_s_start_holds_the_start(disk: Disk) -> None:
    log = disk.log()
    producer = Producer(disk, log)
    producer.append(0, transactional=True)
    for _ in range(3):
        disk.append(log, b"x")
    log.delete_records_before(2)
    assert (log.log_start_offset, log.last_stable_offset) == (2, 2)
    producer.end(commit=False)
    assert log.last_stable_offset == 5


@pytest.mark.parametrize("visible_after_flush", [False, True])
def test_the_visible_end_is_what_survives(disk: Disk, visible_after_flush: bool) -> None:
    log = disk.log(config=LogConfig(visible_after_flush=visible_after_flush))
    disk.append(log, b"x")
    assert log.visible_end_offset == (0 if visible_after_flush else 1)
    log.flush()
    assert log.visible_end_offset == 1


def test_the_size_is_that_of_all_segments(disk: Disk) -> None:
    log = disk.log(config=LogConfig(segment_bytes=150))
    sent = [disk.batch(b"x" * i) for i in range(5)]
    for batch in sent:
        log.append(batch, leader_epoch=0)
    assert len(log.segments) > 1
    assert log.size_bytes == sum(map(len, sent))


@pytest.mark.parametrize("number", sorted(PASSING_ERRORS))
def test_an_error_that_may_pass_leaves_the_log_online(
    disk: Disk, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    broken: list[OSError] = []
    log = disk.log(on_failure=broken.append)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            error = log.storage_error(OSError(number, "full"))
    assert (error.code, error.message) == (ErrorCode.KAFKA_STORAGE_ERROR, "topic-0: full")
    log.check_online()
    assert broken == []
    assert [each.levelname for each in caplog.records] == ["WARNING"]  # once


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ENOENT])
def test_any_other_error_takes_the_log_offline(disk: Disk, number: int) -> None:
    broken: list[OSError] = []
    log = disk.log(on_failure=broken.append)
    failure = OSError(number, "broken")
    assert log.storage_error(failure).code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broken == [failure]
    with pytest.raises(KafkaError, match="The log of partition topic-0 is offline") as caught:
        log.check_online()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_future_log_has_its_partition_s_name(disk: Disk) -> None:
    log = disk.log("a-b-3.0123456789abcdef-future")
    assert (log.name, log.topic, log.partition) == ("a-b-3", "a-b", 3)


def test_closing_the_files_writes_nothing(disk: Disk) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for _ in range(3):
        disk.append(log, b"x")
    before = disk.names()
    log.close_files()
    assert len(disk.open_files) == 0
    assert disk.names() == before
