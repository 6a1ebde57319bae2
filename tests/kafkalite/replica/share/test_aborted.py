"""Groups that read only what is committed never see the records of aborted transactions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkalite.log.reading import Aborted
from kafkalite.replica.share.aborted import aborted_batches, without_aborted
from kafkalite.replica.share.acquisition import Acquired
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.wire.control_records import (
    ControlRecordType,
    build_end_transaction_marker,
)
from kafkalite.wire.record_batch import RecordBatch
from tests.kafkalite.replica.share.share_world import World, log_batch, offsets

FIRST, SECOND = 7, 8


def data(offset: int, count: int, producer_id: int = FIRST, *, plain: bool = False) -> RecordBatch:
    if plain:
        return log_batch(offset, count)
    return log_batch(
        offset,
        count,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def marker(offset: int, kind: ControlRecordType, producer_id: int = FIRST) -> RecordBatch:
    built = build_end_transaction_marker(
        producer_id=producer_id,
        producer_epoch=0,
        commit=kind is ControlRecordType.COMMIT,
        coordinator_epoch=0,
        timestamp=1,
        base_offset=offset,
    )
    return RecordBatch(built)


def aborted(first: int, producer_id: int = FIRST) -> Aborted:
    return producer_id, first


ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT


@pytest.mark.parametrize(
    ("fetched", "transactions", "found"),
    [
        ([data(0, 2), marker(2, ABORT)], [aborted(0)], [0]),
        ([data(0, 2), marker(2, COMMIT)], [], []),
        # The one that was aborted ends with its marker: what comes after is another.
        (
            [data(0, 2), marker(2, ABORT), data(3, 1), marker(4, COMMIT)],
            [aborted(0)],
            [0],
        ),
        ([data(0, 2), data(2, 1, SECOND), marker(3, ABORT)], [aborted(0)], [0]),
        (
            [data(0, 1), data(1, 1, SECOND), marker(2, ABORT, SECOND), marker(3, ABORT)],
            [aborted(1, SECOND), aborted(0)],
            [0, 1],
        ),
        # It begins later than what was fetched of this producer.
        ([data(0, 2), data(2, 2)], [aborted(2)], [2]),
        ([data(0, 2, plain=True)], [aborted(0)], []),
    ],
    ids=["aborted", "committed", "ended", "others", "two", "later", "plain"],
)
def test_batches_of_aborted_transactions(
    fetched: Sequence[RecordBatch],
    transactions: Sequence[Aborted],
    found: Sequence[int],
) -> None:
    assert [each.base_offset for each in aborted_batches(fetched, transactions)] == found


def test_they_are_archived_and_not_told() -> None:
    world = World([])
    world.log = [data(0, 3, plain=True), data(3, 4), data(7, 2, plain=True)]
    acquired = world.fetch("a")
    assert offsets(acquired) == list(range(9))
    left = without_aborted(world.share, acquired, world.log, [aborted(3)])
    assert left == [Acquired(0, 2, 1), Acquired(7, 8, 1)]
    states = world.states()
    assert {states[offset][0] for offset in range(3, 7)} == {RecordState.ARCHIVED}
    assert {states[offset][0] for offset in (0, 2, 7, 8)} == {RecordState.ACQUIRED}
    world.say(1, 0, 2)
    assert world.share.start_offset == 7


def test_with_nothing_aborted_all_is_acquired() -> None:
    world = World([3])
    acquired = world.fetch("a")
    assert without_aborted(world.share, acquired, world.log, []) is acquired
    assert without_aborted(world.share, [], world.log, [aborted(0)]) == []
