"""Transactions on the cleaner's way: aborted data goes at once, markers when no data is left."""

from pathlib import Path

import pytest

from kafkalite.log.cleaned_transactions import CleanedTransactions
from kafkalite.log.files import FILES
from kafkalite.log.transaction_index import AbortedTransaction, TransactionIndex
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, RecordBatch, build_batch


def data(offset: int, producer_id: int = 1, *, is_transactional: bool = True) -> RecordBatch:
    return RecordBatch(
        build_batch(
            [Record(key=b"k", value=b"v")],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=is_transactional,
        )
    )


def marker(offset: int, producer_id: int = 1, *, commit: bool) -> RecordBatch:
    batch = bytearray(
        build_end_transaction_marker(
            producer_id=producer_id,
            producer_epoch=0,
            commit=commit,
            coordinator_epoch=0,
            timestamp=0,
        )
    )
    batch[:8] = offset.to_bytes(8)
    return RecordBatch(batch)


ABORTED = AbortedTransaction(producer_id=1, first_offset=0, last_offset=2, last_stable_offset=3)


@pytest.fixture
def index(tmp_path: Path) -> TransactionIndex:
    return TransactionIndex(tmp_path, "0.txnindex", 0, FILES)


def test_aborted_data_goes_and_its_marker_stays_while_there_was_data(
    index: TransactionIndex,
) -> None:
    transactions = CleanedTransactions()
    transactions.index = index
    transactions.add([ABORTED])
    assert transactions.batch_met(data(0))
    assert transactions.batch_met(data(1))
    assert not transactions.marker_met(marker(2, commit=False))
    assert index.all() == [ABORTED]
    # The producer's next transaction is another one.
    assert not transactions.batch_met(data(3))
    assert not transactions.marker_met(marker(4, commit=True))
    assert index.all() == [ABORTED]


def test_an_abort_without_data_may_go_and_leaves_the_index(index: TransactionIndex) -> None:
    transactions = CleanedTransactions()
    transactions.index = index
    transactions.add([ABORTED])
    assert transactions.marker_met(marker(2, commit=False))
    assert index.all() == []


def test_a_commit_stays_while_there_was_data() -> None:
    transactions = CleanedTransactions()
    assert not transactions.batch_met(data(0))
    assert not transactions.marker_met(marker(1, commit=True))
    assert transactions.marker_met(marker(2, commit=True))  # of a transaction without data
    assert transactions.marker_met(marker(3, producer_id=9, commit=True))


def test_data_before_the_transaction_began_is_not_aborted() -> None:
    transactions = CleanedTransactions()
    transactions.add([AbortedTransaction(1, first_offset=5, last_offset=7, last_stable_offset=8)])
    assert not transactions.batch_met(data(0))
    assert not transactions.marker_met(marker(1, commit=True))
    assert transactions.batch_met(data(5))


def test_transactions_begin_in_the_order_of_their_offsets() -> None:
    transactions = CleanedTransactions()
    transactions.add([AbortedTransaction(2, 3, 9, 10)])
    transactions.add([AbortedTransaction(1, 0, 5, 6)])
    assert transactions.batch_met(data(0, producer_id=1))
    assert not transactions.batch_met(data(2, producer_id=2))
    assert transactions.batch_met(data(3, producer_id=2))
    assert not transactions.marker_met(marker(5, producer_id=1, commit=False))
    assert not transactions.marker_met(marker(9, producer_id=2, commit=False))


def test_data_outside_of_transactions_stays() -> None:
    transactions = CleanedTransactions()
    transactions.add([ABORTED])
    assert not transactions.batch_met(data(1, is_transactional=False))


def test_an_emptied_marker_may_go() -> None:
    emptied = RecordBatch(
        build_batch(
            [], base_offset=4, last_offset=4, producer_id=1, producer_epoch=0, is_control=True
        )
    )
    assert CleanedTransactions().marker_met(emptied)
