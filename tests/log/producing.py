"""A producer that appends to a log, in transactions or not."""

from typing import Any

import pytest

from kafkalite.log.log import AppendInfo, AppendOrigin, Log
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError


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


def aborted(log: Log, offset: int, upper_bound: int) -> list[tuple[int, int]]:
    return [t[:2] for t in log.aborted_transactions(offset, upper_bound)]
