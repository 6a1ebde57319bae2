"""A log loses its newest records, and with them epochs and producers."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig

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


def test_truncation_before_everything(disk: Any, values: Any) -> None:
    log = filled(disk)
    log.delete_records_before(20)
    log.retain()
    log.truncate_to(4)
    assert (log.log_start_offset, log.log_end_offset, values(log)) == (4, 4, [])
    assert disk.append(log, b"x") == 4
