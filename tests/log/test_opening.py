"""A log is opened: new, as it was, or offline with a reason."""

from pathlib import Path

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import offline_log
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.conftest import Disk


def test_a_new_log_makes_its_directory_and_no_file(disk: Disk) -> None:
    log = disk.log("orders-3")
    assert (log.topic, log.partition, log.log_end_offset) == ("orders", 3, 0)
    assert disk.names("orders-3") == []


def test_the_checkpointed_offsets_count(disk: Disk) -> None:
    log = disk.log()
    for _ in range(5):
        disk.append(log, b"x")
    log.close_files()
    log = disk.log(log_start_offset=2, recovery_point=4)
    assert (log.log_start_offset, log.recovery_point, log.log_end_offset) == (2, 4, 5)
    assert log.high_watermark == 2
    log.close_files()
    # After a clean shutdown everything is on the disk.
    assert disk.log(recovery_point=4, clean_shutdown=True).recovery_point == 5
    # A recovery point behind the end is that of records that are gone.
    assert disk.log(recovery_point=9).recovery_point == 5


def test_a_directory_that_cannot_be_made_is_an_os_error(disk: Disk) -> None:
    (disk.root / "topic-0").write_bytes(b"a file")
    with pytest.raises(OSError, match="Not a directory"):
        disk.log()


def test_an_offline_log_touches_nothing_and_says_why(tmp_path: Path) -> None:
    log = offline_log(
        tmp_path / "t-0",
        LogConfig(),
        "its disk is gone",
        now_ms=lambda: 1,
        open_files=OpenFiles(),
        may_come_back=True,
    )
    assert (log.name, log.log_end_offset, log.may_come_back) == ("t-0", 0, True)
    refused = [
        lambda: log.append(b"", leader_epoch=0),
        lambda: log.append_trusted([(b"k", b"v")], 1, 0),
        lambda: log.append_as_follower(b""),
        lambda: log.read(0, 100, upper_bound=0),
        lambda: log.offset_for_timestamp(0),
        log.max_timestamp_offset,
        lambda: log.delete_records_before(0),
        log.retain,
        lambda: log.truncate_to(0),
        lambda: log.start_over_at(0),
        log.flush,
    ]
    for each in refused:
        with pytest.raises(KafkaError, match="its disk is gone") as caught:
            each()
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    log.settle()
    log.close()
    assert list(tmp_path.iterdir()) == []
