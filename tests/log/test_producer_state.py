"""Idempotence and transactions in one partition, and the records that consumers may see."""

from itertools import pairwise
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.log import AppendOrigin
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.conftest import Disk
from tests.log.producing import Producer, aborted

MAX_SEQUENCE = 2**31 - 1


@pytest.fixture
def producer(disk: Any) -> Producer:
    return Producer(disk, disk.log())


def test_the_last_five_batches_are_known(producer: Producer) -> None:
    for sequence in range(0, 12, 2):
        producer.append(sequence, count=2)
    for sequence in range(2, 12, 2):
        again = producer.append(sequence, count=2)
        assert again.is_duplicate
        assert (again.base_offset, again.last_offset) == (sequence, sequence + 1)
    assert producer.log.log_end_offset == 12
    assert producer.refused(0, count=2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.refused(10, count=1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.refused(13) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.append(12).base_offset == 12


@pytest.mark.parametrize("producer_id", [-1, -2])
def test_a_batch_without_a_producer_id_begins_no_transaction(disk: Disk, producer_id: int) -> None:
    """Whatever its attributes say, as in Apache Kafka."""
    log = disk.log(config=LogConfig(verify_transactions=True))
    batch = disk.batch(b"v", producer_id=producer_id, is_transactional=True)
    for offset in (0, 1):
        assert log.append(batch, leader_epoch=0).base_offset == offset
    log.advance_high_watermark(2)
    assert log.last_stable_offset == 2


def test_sequences_wrap(producer: Producer) -> None:
    producer.append(MAX_SEQUENCE - 1, count=4)
    assert producer.append(MAX_SEQUENCE - 1, count=4).is_duplicate
    assert producer.append(2).base_offset == 4


def test_an_unknown_producer_may_begin_anywhere(producer: Producer) -> None:
    assert producer.append(1234).base_offset == 0


def test_epochs(producer: Producer) -> None:
    producer.append(0, epoch=3)
    assert producer.refused(0, epoch=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.refused(1, epoch=4) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.append(0, epoch=4).base_offset == 1
    assert producer.refused(1, epoch=3) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_no_epoch_is_below_that_of_a_producer_without_one(producer: Producer) -> None:
    assert producer.refused(0, epoch=-2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.append(0, epoch=-1).base_offset == 0


def test_an_older_epoch_is_told_before_a_sequence_out_of_order(producer: Producer) -> None:
    producer.append(0, epoch=1)
    assert producer.log.start_verification(9, 1, 2, supports_epoch_bump=True) is not None
    assert producer.refused(7, epoch=0) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_silent_producer_is_forgotten(producer: Producer) -> None:
    producer.append(0)
    producer.disk.now_ms += 86_400_000 - 1
    list(producer.log.producer_state.remove_expired(producer.disk.now_ms, 86_400_000))
    assert producer.refused(5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.disk.now_ms += 1
    list(producer.log.producer_state.remove_expired(producer.disk.now_ms, 86_400_000))
    assert producer.append(5).base_offset == 1


def test_many_silent_producers_are_forgotten_little_by_little(producer: Producer) -> None:
    producer.append(0)
    state = producer.log.producer_state
    (entry,) = state.producers.values()
    state.producers.update(dict.fromkeys(range(1000, 2000), entry))
    counts = [len(state.producers)]
    for _ in state.remove_expired(producer.disk.now_ms + 1000, 1000):
        counts.append(len(state.producers))
        state.producers.pop(1999, None)
    assert state.producers == {}
    assert len(counts) >= 3
    assert max(before - after for before, after in pairwise(counts)) < 300


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [200, 1 << 30])
def test_a_retry_after_a_restart_is_known(disk: Any, is_clean: bool, segment_bytes: int) -> None:
    config = LogConfig(segment_bytes=segment_bytes)
    producer = Producer(disk, disk.log(config=config))
    other = Producer(disk, producer.log, producer_id=10)
    for sequence in range(7):
        producer.append(sequence)
        other.append(sequence)
    if is_clean:
        producer.log.close()
    else:
        producer.log.close_files()
    producer.log = disk.log(config=config, clean_shutdown=is_clean)
    again = producer.append(6)
    assert (again.is_duplicate, again.base_offset) == (True, 12)
    assert producer.refused(8) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.append(7).base_offset == 14


@pytest.mark.parametrize("way", ["clean", "killed", "killed after a flush"])
def test_an_open_transaction_whose_records_were_deleted(disk: Any, way: str) -> None:
    producer = Producer(disk, disk.log())
    other = Producer(disk, producer.log, producer_id=10)
    for sequence in range(3):
        producer.append(sequence, transactional=True)
    other.append(0)
    log = producer.log
    assert log.delete_records_before(3) == log.last_stable_offset == 3
    if way == "clean":
        log.close()
    else:
        if way == "killed after a flush":
            log.flush()
        log.close_files()
    producer.log = log = disk.log(
        clean_shutdown=way == "clean", log_start_offset=3, recovery_point=log.recovery_point
    )
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 3  # still undecided
    assert producer.refused(7, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.append(3, transactional=True)
    producer.end(commit=False)
    log.advance_high_watermark(6)
    assert log.last_stable_offset == 6
    assert aborted(log, 3, 6) == [(9, 0)]


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_open_transaction_whose_segments_were_retained_away(disk: Any, is_clean: bool) -> None:
    config = LogConfig(segment_bytes=150, file_delete_delay_ms=0)
    producer = Producer(disk, disk.log(config=config))
    producer.append(0, transactional=True)
    disk.now_ms += config.retention_ms + 1
    log = producer.log
    assert (log.retain(), log.log_start_offset) == (1, 1)
    log.close() if is_clean else log.close_files()
    producer.log = disk.log(config=config, clean_shutdown=is_clean, log_start_offset=1)
    assert producer.log.producer_state.first_unstable_offset == 0
    assert producer.refused(7, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.append(1, transactional=True)


def test_an_open_transaction_holds_the_last_stable_offset(producer: Producer) -> None:
    log = producer.log
    other = Producer(producer.disk, log, producer_id=10)
    producer.append(0)
    assert log.last_stable_offset == 1
    producer.append(1, transactional=True)
    other.append(0, transactional=True)
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    producer.end(commit=True)
    assert log.last_stable_offset == 2
    other.end(commit=False)
    assert log.last_stable_offset == log.log_end_offset == 5


def test_a_marker_counts_when_it_is_replicated(producer: Producer) -> None:
    log = producer.log
    producer.append(0, transactional=True)
    high_watermark = log.high_watermark
    log.append(
        build_end_transaction_marker(
            producer_id=9, producer_epoch=0, commit=True, coordinator_epoch=0, timestamp=0
        ),
        leader_epoch=0,
        origin=AppendOrigin.COORDINATOR,
    )
    assert (log.high_watermark, log.last_stable_offset) == (high_watermark, 0)
    log.advance_high_watermark(2)
    assert log.last_stable_offset == 2


def test_plain_batches_in_a_transaction_are_refused(producer: Producer) -> None:
    producer.append(0, transactional=True)
    assert producer.refused(1) == ErrorCode.INVALID_TXN_STATE
    producer.end(commit=True)
    assert producer.append(0, epoch=1).base_offset == 2


def test_markers_are_fenced(producer: Producer) -> None:
    producer.append(0, epoch=3, transactional=True)
    with pytest.raises(KafkaError) as caught:
        producer.end(commit=True, epoch=2)
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.end(commit=True, epoch=3, coordinator_epoch=8)
    with pytest.raises(KafkaError) as caught:
        producer.end(commit=True, epoch=3, coordinator_epoch=7)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_no_marker_s_epoch_is_below_that_of_a_producer_without_one(producer: Producer) -> None:
    for version in (0, 2):
        with pytest.raises(KafkaError, match=ErrorCode.INVALID_PRODUCER_EPOCH.name):
            producer.end(commit=True, epoch=-2, version=version)
    with pytest.raises(KafkaError, match=ErrorCode.TRANSACTION_COORDINATOR_FENCED.name):
        producer.end(commit=True, coordinator_epoch=-2)


def test_markers_of_version_2_end_only_their_own_transaction(producer: Producer) -> None:
    producer.append(0, epoch=3, transactional=True)
    with pytest.raises(KafkaError) as caught:
        producer.end(commit=False, epoch=3, version=2)  # late: for the transaction before
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.end(commit=True, epoch=4, version=2)
    producer.end(commit=True, epoch=4, version=2)  # again, nothing is open: harmless
    producer.append(0, epoch=4, transactional=True)
    assert producer.log.last_stable_offset == 3


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_open_transaction_is_open_after_a_restart(disk: Any, is_clean: bool) -> None:
    producer = Producer(disk, disk.log(config=LogConfig(segment_bytes=200)))
    producer.append(0)
    producer.append(1, transactional=True)
    for _ in range(5):
        disk.append(producer.log, b"others")
    producer.log.close() if is_clean else producer.log.close_files()
    log = disk.log(config=LogConfig(segment_bytes=200), clean_shutdown=is_clean)
    log.advance_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 1
    producer.log = log
    producer.end(commit=False)
    assert log.last_stable_offset == 8
    assert aborted(log, 0, 8) == [(9, 1)]


def test_a_producer_s_next_batch_is_told_from_a_retry(disk: Disk) -> None:
    log = disk.log()

    def append(sequence: int, epoch: int = 0) -> Any:
        fields = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}
        info = log.append(disk.batch(b"one", b"two", **fields), leader_epoch=0)
        return info.base_offset, info.is_duplicate

    assert [append(0), append(2), append(2), append(0)] == [
        (0, False),
        (2, False),
        (2, True),
        (0, True),
    ]
    for sequence, epoch in ((6, 0), (3, 0), (4, 1)):
        with pytest.raises(KafkaError) as caught:
            append(sequence, epoch)
        assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(4) == (4, False)
    assert append(0, epoch=1) == (6, False)
    log.close()
