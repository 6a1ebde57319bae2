"""Verified transactions: a guard lets the first batch in, once, while it is fresh (KIP-890)."""

from itertools import pairwise
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.verification import VerificationGuard, Verifications
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


@pytest.fixture
def verifications() -> Verifications:
    return Verifications()


def started(
    verifications: Verifications, sequence: int = 0, epoch: int = 0, now_ms: int = 0
) -> VerificationGuard:
    return verifications.start(9, sequence, epoch, supports_epoch_bump=True, now_ms=now_ms)


def test_a_verification_under_way_keeps_its_guard(verifications: Verifications) -> None:
    guard = started(verifications)
    assert started(verifications) is guard
    assert verifications.is_guard(9, guard)
    assert not verifications.is_guard(8, guard)
    assert not verifications.is_guard(9, None)
    assert not verifications.is_guard(9, VerificationGuard())


def test_an_ended_verification_s_guard_proves_nothing(verifications: Verifications) -> None:
    guard = started(verifications)
    verifications.end(9)
    verifications.end(9)
    assert not verifications
    assert not verifications.is_guard(9, guard)
    assert not verifications.is_guard(9, None)
    assert started(verifications) is not guard


def test_the_lowest_sequence_of_the_latest_epoch_counts(verifications: Verifications) -> None:
    found: list[tuple[int, int]] = []
    for sequence, epoch in ((5, 1), (3, 1), (4, 1), (0, 0), (7, 2), (1, 1)):
        started(verifications, sequence, epoch)
        state = verifications.get(9)
        assert state is not None
        found.append((state.lowest_sequence, state.epoch))
    assert found == [(5, 1), (3, 1), (3, 1), (3, 1), (7, 2), (7, 2)]


def test_a_verification_expires(verifications: Verifications) -> None:
    started(verifications, now_ms=1000)
    list(verifications.remove_expired(1999, 1000))
    assert len(verifications) == 1
    list(verifications.remove_expired(2000, 1000))
    assert len(verifications) == 0


def test_many_verifications_expire_little_by_little(verifications: Verifications) -> None:
    for producer_id in range(1000):
        verifications.start(producer_id, 1, 0, supports_epoch_bump=False, now_ms=1000)
    counts = [len(verifications)]
    for _ in verifications.remove_expired(2000, 1000):
        counts.append(len(verifications))
        verifications.end(999)
    assert len(verifications) == 0
    assert max(before - after for before, after in pairwise(counts)) < 300


def test_the_first_batch_is_not_behind_the_lowest_sequence_seen(disk: Any) -> None:
    producer = Producer(disk, disk.log())
    producer.log.start_verification(9, 3, 0, supports_epoch_bump=False)
    assert producer.refused(4, transactional=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.append(3, transactional=True).base_offset == 0


def test_an_older_epoch_is_refused_before_anybody_is_asked(disk: Any) -> None:
    """Also while the producer's transaction is open."""
    producer = Producer(disk, disk.log())
    producer.append(0, epoch=1, transactional=True)
    with pytest.raises(KafkaError) as caught:
        producer.log.start_verification(9, 1, 0, supports_epoch_bump=True)
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.log.start_verification(9, 1, 1, supports_epoch_bump=True) is None
    assert producer.log.start_verification(9, 0, 2, supports_epoch_bump=True) is not None
