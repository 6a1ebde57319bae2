"""Idempotence and transactions in one partition: behaviours B26 to B30 and what consumers may
see."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import AppendInfo, AppendOrigin, Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_entry import ProducerEntry
from kafkalite.log.producer_snapshots import CorruptSnapshot, decode_snapshot, encode_snapshot
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError

MAX_SEQUENCE = 2**31 - 1


class Producer:
    """One producer id that appends to a log."""

    def __init__(self, disk: Any, log: Log, producer_id: int = 9) -> None:
        self.disk = disk
        self.log = log
        self.producer_id = producer_id

    def append(
        self, sequence: int, *, count: int = 1, epoch: int = 0, transactional: bool = False
    ) -> AppendInfo:
        batch = self.disk.batch(
            *[b"v"] * count,
            producer_id=self.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        info = self.log.append(batch, leader_epoch=0)
        self.log.advance_high_watermark(self.log.log_end_offset)
        return info

    def refused(self, sequence: int, **options: Any) -> ErrorCode:
        end = self.log.log_end_offset
        with pytest.raises(KafkaError) as caught:
            self.append(sequence, **options)
        assert self.log.log_end_offset == end
        return caught.value.code

    def end(
        self, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0, version: int = 0
    ) -> AppendInfo:
        info = self.log.append(
            build_end_transaction_marker(
                producer_id=self.producer_id,
                producer_epoch=epoch,
                commit=commit,
                coordinator_epoch=coordinator_epoch,
                timestamp=self.disk.now_ms,
            ),
            leader_epoch=0,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=version,
        )
        self.log.advance_high_watermark(self.log.log_end_offset)
        return info


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


def test_a_silent_producer_is_forgotten(producer: Producer) -> None:
    producer.append(0)
    producer.disk.now_ms += 86_400_000 - 1
    producer.log.producer_state.remove_expired(producer.disk.now_ms, 86_400_000)
    assert producer.refused(5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.disk.now_ms += 1
    producer.log.producer_state.remove_expired(producer.disk.now_ms, 86_400_000)
    assert producer.append(5).base_offset == 1


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


def test_snapshots_are_written_with_each_roll_and_used(disk: Any) -> None:
    config = LogConfig(segment_bytes=150)
    producer = Producer(disk, disk.log(config=config))
    for sequence in range(4):
        producer.append(sequence)
    snapshots = [name for name in disk.names() if name.endswith(".snapshot")]
    assert snapshots == [f"{offset:020d}.snapshot" for offset in (2,)]
    producer.log.close()
    assert f"{4:020d}.snapshot" in disk.names()
    # A damaged one is skipped: the older, and the batches behind it, say the same.
    (disk.root / "topic-0" / f"{4:020d}.snapshot").write_bytes(b"\0\1garbage")
    producer.log = disk.log(config=config, clean_shutdown=True)
    assert producer.append(3).is_duplicate


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
    assert producer.log.producer_state.first_undecided_offset == 0
    assert producer.refused(7, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.append(1, transactional=True)


class SyncedFiles(Files):
    """Notes what is on the disk when a segment goes."""

    def __init__(self) -> None:
        self.synced: set[str] = set()
        self.synced_at_deletion: set[str] | None = None

    def sync_file(self, path: Path) -> None:
        super().sync_file(path)
        if path.exists():
            self.synced.add(path.name)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if target.name.endswith(".deleted") and self.synced_at_deletion is None:
            self.synced_at_deletion = set(self.synced)


def test_producers_are_on_the_disk_before_their_records_go(disk: Any) -> None:
    files = SyncedFiles()
    disk.open_files = OpenFiles(files=files)
    config = LogConfig(segment_bytes=150, file_delete_delay_ms=0)
    producer = Producer(disk, disk.log(config=config))
    for sequence in range(5):
        producer.append(sequence)
    flush = producer.log.begin_flush(4)
    assert flush is not None
    flush.run()
    assert f"{2:020d}.snapshot" in files.synced
    flush.complete()
    disk.now_ms += config.retention_ms + 1
    assert producer.log.retain() == 3
    assert files.synced_at_deletion is not None
    assert f"{5:020d}.snapshot" in files.synced_at_deletion


def test_a_snapshots_bytes() -> None:
    entry = ProducerEntry(7, 2, 5, 1234, 99)
    data = encode_snapshot([entry])
    assert len(data) == 2 + 4 + 4 + 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
    [back] = decode_snapshot(data)
    assert (back.producer_id, back.producer_epoch, back.coordinator_epoch) == (7, 2, 5)
    assert (back.last_timestamp, back.transaction_first_offset, back.last_sequence) == (
        1234,
        99,
        -1,
    )
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(bytes(changed))
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(b"")


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


def test_markers_of_version_2_end_only_their_own_transaction(producer: Producer) -> None:
    producer.append(0, epoch=3, transactional=True)
    with pytest.raises(KafkaError) as caught:
        producer.end(commit=False, epoch=3, version=2)  # late: for the transaction before
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.end(commit=True, epoch=4, version=2)
    producer.end(commit=True, epoch=4, version=2)  # again, nothing is open: harmless
    producer.append(0, epoch=4, transactional=True)
    assert producer.log.last_stable_offset == 3


def test_transactions_are_verified_where_that_is_asked_for(disk: Any) -> None:
    log = disk.log(config=LogConfig(verify_transactions=True))
    producer = Producer(disk, log)
    producer.append(0)
    batch = disk.batch(
        b"v", producer_id=9, producer_epoch=0, base_sequence=1, is_transactional=True
    )
    assert producer.refused(1, transactional=True) == ErrorCode.INVALID_TXN_STATE
    guard = log.start_verification(9, 1, 0, supports_epoch_bump=True)
    assert guard is not None
    log.append(batch, leader_epoch=0, verification_guard=guard)
    assert log.start_verification(9, 2, 0, supports_epoch_bump=True) is None
    assert producer.append(2, transactional=True).base_offset == 2
    producer.end(commit=False)
    with pytest.raises(KafkaError) as caught:  # an old guard proves nothing
        log.append(
            disk.batch(
                b"v", producer_id=9, producer_epoch=0, base_sequence=3, is_transactional=True
            ),
            leader_epoch=0,
            verification_guard=guard,
        )
    assert caught.value.code == ErrorCode.INVALID_TXN_STATE


def test_with_transactions_v2_an_unknown_producer_begins_at_zero(disk: Any) -> None:
    producer = Producer(disk, disk.log())
    producer.log.start_verification(9, 4, 0, supports_epoch_bump=True)
    assert producer.refused(4, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.append(0, transactional=True).base_offset == 0


def aborted(log: Log, offset: int, upper_bound: int) -> list[tuple[int, int]]:
    return [t[:2] for t in log.aborted_transactions(offset, upper_bound)]


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
