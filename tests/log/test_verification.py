"""Verified transactions: a guard lets the first batch in, once, while it is fresh (KIP-890)."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.producing import Producer


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
