"""The outcome of an append, and of a retry."""

from kafkalite.log.append_info import as_duplicate
from kafkalite.log.producer_entry import BatchMetadata
from tests.log.conftest import Disk


def test_an_append_tells_offsets(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"x")
    log.delete_records_before(1)
    batch = disk.batch(b"a", b"b", timestamp=disk.now_ms - 7)
    info = log.append(batch, leader_epoch=0)
    assert (info.base_offset, info.last_offset, info.log_append_time_ms) == (1, 2, -1)
    assert (info.log_start_offset, info.is_duplicate) == (1, False)


def test_a_retry_has_the_offsets_and_the_time_of_the_first() -> None:
    first = BatchMetadata(last_sequence=12, last_offset=109, offset_delta=9, timestamp=55)
    info = as_duplicate(first, log_start_offset=50)
    assert (info.base_offset, info.last_offset, info.log_append_time_ms) == (100, 109, 55)
    assert (info.log_start_offset, info.is_duplicate) == (50, True)
