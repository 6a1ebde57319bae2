"""A log loses its newest records, and with them epochs and producers."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.producing import Producer, aborted

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=0)


def filled(disk: Any, count: int = 20) -> Any:
    log = disk.log(config=SMALL)
    for i in range(count):
        disk.append(log, b"%03d" % i)
    return log


@pytest.mark.parametrize("offset", [0, 1, 6, 7, 13, 19, 20, 25])
@pytest.mark.parametrize("is_clean", [True, False])
def test_truncation(disk: Any, values: Any, offset: int, is_clean: bool) -> None:
    log = filled(disk)
    log.truncate_to(offset)
    end = min(offset, 20)
    assert (log.log_end_offset, log.high_watermark) == (end, end)
    assert values(log) == [b"%03d" % i for i in range(end)]
    for i in range(end, 20):
        assert disk.append(log, b"%03d" % i) == i
    assert values(log) == [b"%03d" % i for i in range(20)]
    log.close() if is_clean else log.close_files()
    assert len(values(disk.log(config=SMALL, clean_shutdown=is_clean))) == 20


def test_truncation_takes_back_producers_and_epochs(disk: Any) -> None:
    log = disk.log()
    for sequence in range(5):
        disk.append(
            log,
            b"x",
            leader_epoch=sequence,
            producer_id=3,
            producer_epoch=0,
            base_sequence=sequence,
        )
    log.truncate_to(3)
    assert log.leader_epochs.latest == 2
    assert log.producer_state.producers[3].last_sequence == 2
    assert disk.append(log, b"y", producer_id=3, producer_epoch=0, base_sequence=3) == 3


def test_what_is_cut_on_a_full_disk_is_forgotten_all_the_same(
    disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a producer that repeats a lost batch is told that it is there."""
    log = disk.log()
    for sequence in range(5):
        disk.append(
            log,
            b"x",
            leader_epoch=sequence,
            producer_id=3,
            producer_epoch=0,
            base_sequence=sequence,
        )

    def full(*of: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(type(log.files), "write_atomically", full)
        with pytest.raises(KafkaError):
            log.truncate_to(3)
    assert log.offline_reason is None
    assert (log.log_end_offset, log.high_watermark, log.leader_epochs.latest) == (3, 3, 2)
    assert log.producer_state.producers[3].last_sequence == 2
    assert disk.append(log, b"y", producer_id=3, producer_epoch=0, base_sequence=3) == 3


def test_truncation_before_everything(disk: Any, values: Any) -> None:
    log = filled(disk)
    log.delete_records_before(20)
    log.retain()
    log.truncate_to(4)
    assert (log.log_start_offset, log.log_end_offset, values(log)) == (4, 4, [])
    assert disk.append(log, b"x") == 4


def test_a_cut_at_the_end_forgets_an_epoch_without_batches(disk: Any) -> None:
    log = filled(disk, 5)
    log.leader_epochs.assign(3, 5)  # a leader that never appended
    log.truncate_to(5)
    assert (log.leader_epochs.latest, log.log_end_offset) == (0, 5)
    text = (disk.root / "topic-0" / "leader-epoch-checkpoint").read_text()
    assert text == "0\n1\n0 0\n"


def test_a_cut_stops_the_cleaner_and_moves_the_recovery_point(disk: Any) -> None:
    log = filled(disk)
    log.flush()
    log.cleaning = object()
    log.truncate_to(20)
    assert log.cleaning is not None  # nothing was cut
    log.truncate_to(7)
    assert log.cleaning is None
    assert (log.recovery_point, log.high_watermark, log.log_start_offset) == (7, 7, 0)
    assert max(log.segments.base_offsets) <= 7
    assert not [name for name in disk.names() if name[:20].isdigit() and int(name[:20]) > 7]


def test_an_open_transaction_is_undecided_again_after_its_marker_is_cut(disk: Any) -> None:
    log = disk.log()
    producer = Producer(disk, log)
    producer.append(0, transactional=True)
    disk.append(log, b"x")
    producer.end(commit=False)
    assert (log.last_stable_offset, aborted(log, 0, 3)) == (3, [(9, 0)])
    log.truncate_to(2)
    assert (log.last_stable_offset, aborted(log, 0, 3)) == (0, [])
    producer.end(commit=True)
    assert log.last_stable_offset == 3


@pytest.mark.parametrize("offset", [4, 20, 70])
def test_a_log_starts_over_and_knows_nothing_of_before(disk: Any, values: Any, offset: int) -> None:
    log = disk.log(config=SMALL)
    Producer(disk, log).append(0, transactional=True)
    log.roll()  # a snapshot has the open transaction
    for i in range(20):
        disk.append(log, b"%03d" % i)
    log.start_over_at(offset)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (offset,) * 3
    assert (log.recovery_point, values(log)) == (0, [])
    assert (log.leader_epochs.entries, log.producer_state.producers) == ([], {})
    assert [name for name in disk.names() if name.endswith((".log", ".snapshot"))] == [
        f"{offset:020d}.log"
    ]
    assert disk.append(log, b"next") == offset
    assert log.last_stable_offset == offset + 1
    log.close_files()
    log = disk.log(config=SMALL)
    log.advance_high_watermark(offset + 1)
    assert (log.log_start_offset, values(log)) == (offset, [b"next"])
    assert (log.last_stable_offset, log.producer_state.producers) == (offset + 1, {})


def test_a_failed_cut_takes_the_log_offline(disk: Any) -> None:
    log = filled(disk)
    log.close_files()
    log.segments.first.file.path.unlink()
    with pytest.raises(KafkaError) as caught:
        log.truncate_to(1)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.offline_reason is not None


@pytest.mark.parametrize("suffix", ["index", "log"])
@pytest.mark.parametrize("fully", [False, True])
@pytest.mark.parametrize("failing", [0, 1, 3])
def test_a_cut_that_fails_in_between_is_done_when_it_is_tried_again(
    disk: Any, values: Any, monkeypatch: pytest.MonkeyPatch, suffix: str, fully: bool, failing: int
) -> None:
    """Some file systems need room to remove a file."""
    log = filled(disk)
    unlink, count = Files.unlink, 0

    def failing_unlink(files: Files, path: Path) -> None:
        nonlocal count
        count += path.name.endswith(f".{suffix}")
        if count == failing + 1 and path.name.endswith(f".{suffix}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        unlink(files, path)

    def cut() -> None:
        log.start_over_at(30) if fully else log.truncate_to(1)

    monkeypatch.setattr(Files, "unlink", failing_unlink)
    with pytest.raises(KafkaError):
        cut()
    assert log.offline_reason is None
    assert log.segments.first.base_offset == 0
    cut()
    assert (log.log_start_offset, log.log_end_offset) == ((30, 30) if fully else (0, 1))
    expected = [b"next"] if fully else [b"000", b"next"]
    disk.append(log, b"next")
    assert values(log) == expected
    log.close_files()
    log = disk.log(config=SMALL)
    log.advance_high_watermark(log.log_end_offset)
    assert values(log) == expected
