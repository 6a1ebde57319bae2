"""A log from the outside: append, read, roll, close, open again."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import iterate_batches
from tests.log.conftest import START_MS, Disk
from tests.log.faults import FullFiles


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
