"""Appending to a log: offsets, epochs, bytes; and a log that is refused or deleted."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import iterate_batches
from tests.log.conftest import START_MS, Disk
from tests.log.faults import FullFiles
from tests.log.producing import Producer


def test_offsets_and_epochs_are_given_and_bytes_are_kept(disk: Any) -> None:
    log = disk.log()
    sent = disk.batch(b"a", b"b", b"c")
    assert log.append(sent, leader_epoch=7).base_offset == 0
    info = log.append(sent, leader_epoch=7)
    assert (info.base_offset, info.last_offset, info.log_append_time_ms) == (3, 5, -1)
    log.advance_high_watermark(6)
    with log.read(4, 1000, upper_bound=6).records as records:
        batch = next(iterate_batches(records.read()))
    assert (batch.base_offset, batch.partition_leader_epoch) == (3, 7)
    assert bytes(batch.buffer[16:]) == sent[16:]
    assert batch.is_valid()


APPENDS: dict[str, Any] = {
    "a batch": lambda disk, log: log.append(disk.batch(b"value"), leader_epoch=0).base_offset,
    "trusted pairs": lambda disk, log: log.append_trusted([(b"key", b"value")], START_MS, 0),
}


@pytest.mark.parametrize("kind", APPENDS)
def test_a_full_disk_is_said_and_nothing_has_changed(tmp_path: Path, kind: str) -> None:
    files = FullFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    log = disk.log()
    disk.append(log, b"value")
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        APPENDS[kind](disk, log)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.is_full = False
    assert APPENDS[kind](disk, log) == 1
    log.close()


@pytest.mark.parametrize("kind", APPENDS)
def test_an_offline_log_takes_nothing(disk: Disk, kind: str) -> None:
    log = disk.log()
    disk.append(log, b"value")
    log.offline_reason = "the disk is broken"
    with pytest.raises(KafkaError) as caught:
        APPENDS[kind](disk, log)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    log.offline_reason = None
    log.close()


def test_a_follower_takes_batches_as_they_are(disk: Disk) -> None:
    leader, follower = disk.log("leader-0"), disk.log("follower-0")
    for i, epoch in enumerate((0, 0, 3)):
        sequence = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 2 * i}
        disk.append(leader, b"x", b"y", leader_epoch=epoch, **sequence)
    with leader.read(0, 1 << 20, upper_bound=6).records as records:
        data = records.read()
    assert follower.append_as_follower(data) == 6
    assert (disk.root / "follower-0" / f"{0:020d}.log").read_bytes() == data
    assert follower.leader_epochs.entries == leader.leader_epochs.entries == [(0, 0), (3, 4)]
    assert follower.producer_state.producers[7].last_offset == 5


def test_a_follower_takes_no_batch_twice_and_none_that_is_damaged(disk: Disk) -> None:
    log = disk.log()
    first, second = disk.batch(b"a", base_offset=3), disk.batch(b"b", base_offset=4)
    with pytest.raises(KafkaError) as caught:
        log.append_as_follower(first + second[:-1] + b"?")
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert log.log_end_offset == 4  # up to the damaged one
    assert (log.directory / f"{0:020d}.log").read_bytes() == first
    with pytest.raises(KafkaError, match="3 is less than the next offset 4") as caught:
        log.append_as_follower(first)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.append_as_follower(second) == 5


class CountedFiles(Files):
    """Keeps the sizes of what is written to segments."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.is_full = False

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".log"):
            self.written.append(len(data))
            if self.is_full:
                super().pwrite(descriptor, data[:100], position)
                raise OSError(errno.ENOSPC, "full")
        return super().pwrite(descriptor, data, position)


def test_a_follower_writes_at_once_what_goes_into_a_segment(tmp_path: Path) -> None:
    files = CountedFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    batches = [disk.batch(b"v" * 20, base_offset=offset) for offset in range(10)]
    size = len(batches[0])
    log = disk.log(config=LogConfig(segment_bytes=4 * size))
    assert log.append_as_follower(b"".join(batches[:3])) == 3
    assert log.append_as_follower(memoryview(b"".join(batches[3:]))) == 10
    assert files.written == [3 * size, size, 4 * size, 2 * size]
    kept = [path.read_bytes() for path in sorted(log.directory.glob("*.log"))]
    assert kept == [b"".join(batches[start : start + 4]) for start in (0, 4, 8)]


def test_a_follower_s_write_that_fails_leaves_no_trace(tmp_path: Path, values: Any) -> None:
    files = CountedFiles()
    disk = Disk(tmp_path, open_files=OpenFiles(files=files))
    batches = [disk.batch(b"%d" % offset, base_offset=offset) for offset in range(4)]
    log = disk.log()
    log.append_as_follower(batches[0])
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        log.append_as_follower(b"".join(batches[1:]))
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    (path,) = log.directory.glob("*.log")
    assert (log.log_end_offset, path.read_bytes()) == (1, batches[0])
    files.is_full = False
    log.append_as_follower(b"".join(batches[1:]))
    assert path.read_bytes() == b"".join(batches)
    assert values(log) == [b"0", b"1", b"2", b"3"]


def test_a_follower_s_log_has_the_leader_s_holes(disk: Disk, values: Any) -> None:
    log = disk.log()
    log.append_as_follower(disk.batch(b"a", base_offset=3) + disk.batch(b"b", base_offset=9))
    assert (log.log_end_offset, values(log)) == (10, [b"a", b"b"])


def test_a_deleted_log_is_renamed_and_sent_to_its_end(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"value")
    with log.read(0, 1000, upper_bound=1).records as records:
        path = disk.root / "topic-0.1-delete"
        assert log.delete(path)
        assert b"value" in records.read()
    assert (log.directory, log.offline_reason) == (path, "deleted")
    assert not (disk.root / "topic-0").exists()
    assert disk.log().log_end_offset == 0  # the name is free


def test_markers_need_no_producer_s_sequence_and_end_what_is_open(disk: Disk) -> None:
    log = disk.log()
    producer = Producer(disk, log)
    producer.append(0, transactional=True)
    info = producer.end(commit=False)
    assert (info.base_offset, info.last_offset) == (1, 1)
    assert [each[:3] for each in log.aborted_transactions(0, 2)] == [(9, 0, 1)]
    assert log.last_stable_offset == 2


def test_trusted_pairs_are_stamped_or_compressed_where_the_topic_asks_for_it(
    disk: Disk, records: Any
) -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime", compression_type="gzip")
    log = disk.log(config=config)
    assert log.append_trusted([(b"a", b"1"), (b"b", None)], 5, 0) == 0
    assert log.append_trusted([(b"c", b"3")], 5, 0) == 2
    found = records(log)
    assert [(each.key, each.value) for each in found] == [
        (b"a", b"1"),
        (b"b", None),
        (b"c", b"3"),
    ]
    assert {each.timestamp for each in found} == {disk.now_ms}
